"""Events on changes of the gate: few, counted up when repeated, by the leader alone."""

import pytest

from exporter.cluster.errors import ApiRefusal
from exporter.outward.events import GateEvents
from exporter.outward.notes import REASONS, Note, notes
from tests.exporter.outward.conftest import node_verdict, verdict

DOWN = ("failed", "port_down")


@pytest.fixture
def leads():
    return [True]


@pytest.fixture
def events(api, clock, leads):
    return GateEvents(api, clock, ("rdma-gate", "lease"), lambda: api.nodes, lambda: leads[0], "gate-1")


async def told(events, *verdicts):
    for one in verdicts:
        events.show(one)
        await events.step()


def test_a_node_that_closes_is_one_note_with_what_was_found():
    assert notes(
        verdict(node_verdict("a"), node_verdict("b")), verdict(node_verdict("a", *DOWN), node_verdict("b"))
    ) == (Note("RDMANodeClosed", "PortDown: check access failed: a: port_down found, none wanted", "h100", "a"),)


def test_two_hundred_nodes_that_close_are_two_notes():
    names = [f"n{number:03}" for number in range(200)]
    before = verdict(*(node_verdict(one) for one in names), wanted=150)
    after = verdict(
        *(node_verdict(one, *(DOWN if one < "n190" else ("missing", "silent"))) for one in names), wanted=150
    )
    first = ", ".join(names[:8])
    assert notes(before, after) == (
        Note(
            "RDMAPoolClosed", "pool h100: 0 of 200 nodes open found, 150 wanted; PortDown on 190; Silent on 10", "h100"
        ),
        Note("RDMANodesClosed", f"pool h100: 200 nodes closed; PortDown on 190, Silent on 10; {first}, ...", "h100"),
    )


def test_what_opens_is_good_news_and_all_reasons_are_declared():
    before, after = verdict(node_verdict("a", *DOWN)), verdict(node_verdict("a"))
    opened, closed = notes(before, after), notes(after, before)
    assert [(one.reason, one.type) for one in opened] == [("RDMAPoolOpened", "Normal"), ("RDMANodeOpened", "Normal")]
    assert [(one.reason, one.type) for one in closed] == [("RDMAPoolClosed", "Warning"), ("RDMANodeClosed", "Warning")]
    assert {one.reason for one in (*opened, *closed)} <= REASONS.keys()


def test_a_node_that_is_new_to_the_plan_is_no_change():
    assert notes(verdict(node_verdict("a")), verdict(node_verdict("a"), node_verdict("b", *DOWN))) == ()


async def test_an_event_stands_on_its_node_and_a_pools_on_the_lease(api, events):
    await told(events, verdict(node_verdict("a")), verdict(node_verdict("a", *DOWN)))
    (_, pool_path, pool), (_, node_path, node) = api.sent
    assert (pool_path, node_path) == ("/api/v1/namespaces/rdma-gate/events", "/api/v1/namespaces/default/events")
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "namespace": "rdma-gate", "name": "lease"}
    assert pool["involvedObject"] == lease
    assert node.pop("metadata")["name"].startswith("a.")
    assert node == {
        "apiVersion": "v1",
        "kind": "Event",
        "involvedObject": {"apiVersion": "v1", "kind": "Node", "name": "a", "uid": "uid-a"},
        "type": "Warning",
        "reason": "RDMANodeClosed",
        "message": "PortDown: check access failed: a: port_down found, none wanted",
        "source": {"component": "rdma-gate", "host": "gate-1"},
        "reportingComponent": "rdma-gate",
        "reportingInstance": "gate-1",
        "firstTimestamp": "2026-11-30T14:05:12Z",
        "lastTimestamp": "2026-11-30T14:05:12Z",
        "count": 1,
    }


async def test_what_is_said_again_counts_the_same_event_up(api, events, clock):
    up = verdict(node_verdict("a"), node_verdict("b"))
    down = verdict(node_verdict("a", *DOWN), node_verdict("b"))
    await told(events, up, down, up)
    clock.seconds += 599
    await told(events, down)
    assert [method for method, _, _ in api.sent] == ["POST", "POST", "PATCH"]
    assert api.sent[2][1].endswith(api.sent[0][2]["metadata"]["name"])
    assert api.sent[2][2]["count"] == 2
    clock.seconds += 601
    await told(events, up, down)
    assert [method for method, _, _ in api.sent[3:]] == ["POST", "POST"]


async def test_an_event_that_has_expired_is_made_anew(api, events):
    up = verdict(node_verdict("a"), node_verdict("b"))
    await told(events, up, verdict(node_verdict("a", *DOWN), node_verdict("b")), up)
    api.refuse.append(ApiRefusal(404, "not found"))
    await told(events, verdict(node_verdict("a", *DOWN), node_verdict("b")))
    assert [method for method, _, _ in api.sent] == ["POST", "POST", "POST"]


async def test_only_the_leader_tells_and_a_new_one_tells_nothing_of_before(api, events, leads):
    leads[0] = False
    await told(events, verdict(node_verdict("a")), verdict(node_verdict("a", *DOWN)))
    leads[0] = True
    await told(events, verdict(node_verdict("a")))
    assert api.sent == []
    await told(events, verdict(node_verdict("a", *DOWN)))
    assert len(api.sent) == 2


async def test_a_refusal_is_a_problem_until_something_is_told(api, events):
    api.refuse.append(ApiRefusal(403, 'cannot create resource "events"'))
    up, down = verdict(node_verdict("a"), node_verdict("b")), verdict(node_verdict("a", *DOWN), node_verdict("b"))
    await told(events, up, down)
    assert events.problem == 'write events: 403 cannot create resource "events" found, an answer wanted'
    await told(events, up)
    assert events.problem == ""
