"""A list stays as the API has it through everything an API server and a network do to a watch."""

import asyncio

from exporter.cluster.backoff import Backoff
from exporter.cluster.kinds import ATTACHMENTS, NODES, PODS
from exporter.cluster.reflector import Reflector
from exporter.cluster.source import Source
from probes._cluster import ExtendedResource, Unread
from tests.exporter.cluster.conftest import running, until
from tests.exporter.cluster.fake_api import Fault

BASE = "/api/v1/nodes"
FORBIDDEN = 'nodes is forbidden: User "system:serviceaccount:a:b" cannot list resource "nodes" at the cluster scope'


def node(name, **resources):
    return {
        "metadata": {"name": name, "uid": f"uid-{name}"},
        "status": {"capacity": resources, "allocatable": resources},
    }


def reflector(connection, clock, source=None, changed=lambda: None):
    return Reflector(connection, source or Source(NODES), clock, changed)


def names(kept):
    return sorted(one.name for one in kept.items.values())


async def watching(api):
    await until(lambda: api.watching)


async def test_what_is_there_is_listed_and_what_happens_after_is_followed(api, connection, clock):
    api.put(BASE, node("a"))
    kept = reflector(connection, clock)
    async with running(kept.run()):
        await until(lambda: names(kept) == ["a"])
        api.put(BASE, node("b"))
        await until(lambda: names(kept) == ["a", "b"])
        api.delete(BASE, "a")
        await until(lambda: names(kept) == ["b"])
    assert len(api.asked("limit=")) == 1


async def test_a_thousand_nodes_come_in_five_pages_of_200(api, connection, clock):
    for number in range(1000):
        api.put(BASE, node(f"n{number}"))
    kept = reflector(connection, clock)
    async with running(kept.run()):
        await until(lambda: kept.synced)
    assert len(kept.items) == 1000
    assert api.asked("limit=") == [
        f"GET {BASE}?limit=200",
        *(f"GET {BASE}?limit=200&continue={at}" for at in (200, 400, 600, 800)),
    ]


async def test_a_list_whose_version_expires_between_pages_begins_anew(api, connection, clock):
    for number in range(250):
        api.put(BASE, node(f"n{number}"))
    api.faults.append(Fault("continue=200", 410))
    kept = reflector(connection, clock)
    async with running(kept.run()):
        await until(lambda: kept.synced)
    assert len(kept.items) == 250
    assert len(api.asked("limit=")) == 4


async def test_an_error_410_inside_a_watch_lists_anew_and_notices_what_went_missing(api, connection, clock):
    api.put(BASE, node("a"))
    kept = reflector(connection, clock)
    async with running(kept.run()):
        await watching(api)
        api._objects[BASE].clear()
        api.put("/api/v1/pods", {"metadata": {"name": "other", "namespace": "x"}})
        api.forget_history()
        await until(lambda: kept.synced and not kept.items)
    assert (kept.restarts, kept.relists) == (1, 1)
    assert len(api.asked("limit=")) == 2


async def test_a_watch_request_answered_410_lists_anew(api, connection, clock):
    api.put(BASE, node("a"))
    api.faults.append(Fault("watch=1", 410))
    kept = reflector(connection, clock)
    async with running(kept.run()):
        await watching(api)
    assert len(api.asked("limit=")) == 2


async def test_a_watch_that_is_cut_goes_on_where_it_was_without_listing(api, connection, clock):
    api.put(BASE, node("a"))
    kept = reflector(connection, clock)
    async with running(kept.run()):
        await watching(api)
        api.put(BASE, node("b"))
        await until(lambda: len(kept.items) == 2)
        api.cut_watches()
        api.put(BASE, node("c"))
        await until(lambda: names(kept) == ["a", "b", "c"])
    assert len(api.asked("limit=")) == 1
    assert api.asked("watch=1")[-1].split("resourceVersion=")[1].split("&")[0] == "102"


async def test_a_watch_that_the_server_ends_in_its_time_goes_on_and_is_no_failure(api, connection, clock):
    api.put(BASE, node("a"))
    kept = reflector(connection, clock)
    async with running(kept.run()):
        await watching(api)
        api.put(BASE, node("b"))
        await until(lambda: len(kept.items) == 2)
        api.end_watches()
        await until(lambda: len(api.asked("watch=1")) == 2)
    assert kept.restarts == 0
    assert kept.unread(60) is None


async def test_an_event_larger_than_what_is_read_at_once_is_put_together(api, connection, clock):
    kept = reflector(connection, clock)
    async with running(kept.run()):
        await watching(api)
        big = node("a")
        big["metadata"]["labels"] = {"note": "x" * (1 << 20)}
        api.put(BASE, big)
        api.put(BASE, node("b"))
        await until(lambda: names(kept) == ["a", "b"])
    assert len(kept.items["/a"].labels["note"]) == 1 << 20
    assert kept.restarts == 0


async def test_a_bookmark_moves_the_version_from_which_a_watch_goes_on(api, connection, clock):
    kept = reflector(connection, clock)
    async with running(kept.run()):
        await watching(api)
        for _ in range(5):
            api.bookmark()
        await until(lambda: kept._since == "105")
        api.cut_watches()
        await until(lambda: len(api.asked("watch=1")) == 2)
    assert "allowWatchBookmarks=true&resourceVersion=105" in api.asked("watch=1")[1]


async def test_retry_after_of_a_429_is_waited_for(api, connection, clock):
    api.faults.append(Fault("limit=", 429, headers={"Retry-After": "7"}))
    kept = reflector(connection, clock)
    async with running(kept.run()):
        await until(lambda: kept.synced)
    assert any(7.0 < seconds < 8.0 for seconds in clock.waits)


async def test_failures_of_the_server_are_retried_ever_more_slowly(api, connection, clock):
    api.faults.append(Fault("limit=", 503, times=4))
    kept = Reflector(connection, Source(NODES), clock, lambda: None, Backoff(chance=lambda low, high: high))
    async with running(kept.run()):
        await until(lambda: kept.synced)
    assert clock.waits[:4] == [0.5, 1.0, 2.0, 4.0]


async def test_a_forbidden_list_is_unread_with_its_verb_and_clears_when_the_role_is_granted(api, connection, clock):
    fault = Fault(BASE, 403, times=10**6, message=FORBIDDEN)
    api.faults.append(fault)
    kept = reflector(connection, clock)
    async with running(kept.run()):
        await until(lambda: kept.unread(60) and kept.unread(60).reason == "rbac_denied")
        assert kept.unread(60) == Unread("nodes", "list", "rbac_denied", FORBIDDEN)
        assert kept.settled
        fault.times = 0
        api.put(BASE, node("a"))
        await until(lambda: names(kept) == ["a"])
        assert kept.unread(60) is None


async def test_a_forbidden_watch_names_watch_and_keeps_what_was_listed(api, connection, clock):
    api.faults.append(Fault("watch=1", 403, times=10**6, message="no watch"))
    kept = reflector(connection, clock, Source(PODS, "tests"))
    async with running(kept.run()):
        await until(lambda: kept.synced and kept.unread(60))
        assert kept.unread(60) == Unread("pods", "watch", "rbac_denied", "no watch", "tests")


async def test_a_watch_that_is_allowed_again_is_read_again_though_nothing_happens(api, connection, clock):
    fault = Fault("watch=1", 403, times=10**6, message="no watch")
    api.faults.append(fault)
    kept = reflector(connection, clock, Source(PODS, "tests"))
    async with running(kept.run()):
        await until(lambda: kept.synced and kept.unread(60))
        fault.times = 0
        await until(lambda: kept.unread(60) is None)
    assert len(api.asked("limit=")) == 1


async def test_before_the_first_answer_a_list_is_unread_and_not_empty(connection, clock):
    kept = reflector(connection, clock)
    assert kept.unread(60) == Unread("nodes", "list", "api_unreachable", "no answer yet")
    assert not kept.settled


async def test_an_api_that_is_gone_leaves_the_last_facts_until_they_are_too_old(api, connection, clock):
    api.put(BASE, node("a"))
    kept = reflector(connection, clock)
    async with running(kept.run()):
        await watching(api)
        api.faults.append(Fault("", 500, times=10**6, message="etcd is gone"))
        api.cut_watches()
        await until(lambda: kept.restarts > 2)
        assert names(kept) == ["a"]
        assert kept.unread(10**6) is None
        assert kept.unread(0.0) == Unread("nodes", kept._verb, "api_unreachable", "500 etcd is gone")
        assert kept.age_seconds > 0


async def test_a_kind_that_the_cluster_does_not_have_is_absent_and_no_error(api, connection, clock):
    kept = reflector(connection, clock, Source(ATTACHMENTS))
    async with running(kept.run()):
        await until(lambda: kept.absent)
        assert kept.unread(0.0) is None
        assert not api.asked("network-attachment-definitions?")
        api.groups["/apis/k8s.cni.cncf.io/v1"] = ["network-attachment-definitions"]
        base = "/apis/k8s.cni.cncf.io/v1/network-attachment-definitions"
        api.put(base, {"metadata": {"namespace": "tests", "name": "rail-0"}, "spec": {"config": "{}"}})
        await until(lambda: names(kept) == ["rail-0"])
        del api.groups["/apis/k8s.cni.cncf.io/v1"]
        api.cut_watches()
        await until(lambda: kept.absent)
        assert not kept.items


async def test_an_answer_that_is_no_json_is_a_failure_and_not_the_end(api, connection, clock):
    api.put(BASE, {"metadata": {"name": "a", "uid": 7}})
    kept = reflector(connection, clock)
    async with running(kept.run()):
        await until(lambda: kept.restarts)
        assert "Expected `str`, got `int`" in kept.unread(60).message
        api.put(BASE, node("a"))
        await until(lambda: kept.synced)


async def test_since_is_when_these_numbers_were_first_seen_and_survives_a_new_list(api, connection, clock):
    api.put(BASE, node("a", **{"rdma/hca": "1k"}))
    kept = reflector(connection, clock)
    async with running(kept.run()):
        await watching(api)
        first = kept.items["/a"].resources["rdma/hca"]
        assert (first.capacity, first.allocatable) == (1000, 1000)
        api.put(BASE, {**node("a", **{"rdma/hca": "1k"}), "spec": {"unschedulable": True}})
        await until(lambda: kept.items["/a"].unschedulable)
        api.forget_history()
        await until(lambda: len(api.asked("limit=")) == 2)
        await watching(api)
        assert kept.items["/a"].resources == {"rdma/hca": first}
        api.put(BASE, node("a", **{"rdma/hca": "0"}))
        await until(lambda: kept.items["/a"].resources["rdma/hca"].capacity == 0)
    last = kept.items["/a"].resources["rdma/hca"]
    assert last == ExtendedResource(0, 0, last.since)
    assert last.since > first.since


async def test_only_a_fact_that_changed_is_told(api, connection, clock):
    told = []
    api.put(BASE, node("a"))
    kept = reflector(connection, clock, changed=lambda: told.append(names(kept)))
    async with running(kept.run()):
        await watching(api)
        heartbeat = {**node("a"), "spec": {"podCIDR": "10.0.0.0/24"}}
        api.put(BASE, heartbeat)
        api.put(BASE, node("b"))
        await until(lambda: len(kept.items) == 2)
    assert told == [["a"], ["a", "b"]]


async def test_a_rotated_token_is_read_again_and_the_request_repeated(api, connection, clock, tmp_path):
    api.tokens = {"first"}
    api.put(BASE, node("a"))
    kept = reflector(connection, clock)
    async with running(kept.run()):
        await watching(api)
        api.tokens = {"second"}
        (tmp_path / "token").write_text("second")
        connection._loaded = float("-inf")
        api.cut_watches()
        api.put(BASE, node("b"))
        await until(lambda: names(kept) == ["a", "b"])
    assert kept.unread(60) is None


async def test_a_token_that_nobody_takes_is_said_and_the_credentials_not_read_without_end(api, connection, clock):
    api.tokens = {"another"}
    kept = reflector(connection, clock)
    async with running(kept.run()):
        await until(lambda: kept.restarts > 3)
        assert kept.unread(60) == Unread("nodes", "list", "api_unreachable", "401 Unauthorized")


async def test_a_slow_server_holds_up_nobody_else(api, connection, clock):
    """The list of nodes is never answered; that of pods is."""
    held = asyncio.Event()
    answer = api._at

    async def slow(request, base, namespace, name):
        if base == BASE:
            await held.wait()
        return await answer(request, base, namespace, name)

    api._at = slow
    nodes, pods = reflector(connection, clock), reflector(connection, clock, Source(PODS))
    async with running(nodes.run(), pods.run()):
        await until(lambda: pods.synced)
        assert not nodes.synced
        held.set()
        await until(lambda: nodes.synced)
