"""Conditions of nodes: at once when they change, slowly when not, by the leader alone."""

from dataclasses import replace

from exporter.cluster.errors import ApiRefusal
from exporter.outward.due import TYPE, Pace
from exporter.outward.node_conditions import AT_ONCE, NodeConditions
from probes._workloads import Condition
from tests.exporter.outward.conftest import Api, StillClock, kube_nodes, node_verdict, verdict

ROUND = (node_verdict("a"), node_verdict("b", "failed", "port_down"))


async def test_the_patch_names_this_one_condition_and_the_node_by_its_uid(api, conditions):
    conditions.show(verdict(node_verdict("a", "failed", "port_down")))
    await conditions.step()
    condition = {
        "type": "rdma-gate.io/RDMAReady",
        "status": "False",
        "reason": "PortDown",
        "message": "check access failed: a: port_down found, none wanted",
        "lastHeartbeatTime": "2026-11-30T14:05:12Z",
        "lastTransitionTime": "2026-11-30T14:05:12Z",
    }
    body = {"metadata": {"uid": "uid-a"}, "status": {"conditions": [condition]}}
    assert api.sent == [("PATCH", "/api/v1/nodes/a/status", body)]


async def test_what_is_as_before_is_written_again_only_as_a_heartbeat(api, conditions, clock):
    conditions.show(verdict(*ROUND))
    await conditions.step()
    assert api.patched() == [("b", "False", "PortDown"), ("a", "True", "AllChecksOpen")]
    for _ in range(599):
        clock.seconds += 1
        await conditions.step()
    assert api.sent == []
    clock.seconds += 1
    await conditions.step()
    assert [sorted(body["status"]["conditions"][0]) for _, _, body in api.sent] == [
        ["lastHeartbeatTime", "message", "reason", "status", "type"]
    ] * 2


async def test_a_change_is_written_at_once_and_another_figure_after_a_minute(api, conditions, clock):
    conditions.show(verdict(node_verdict("a", "failed", "slow")))
    await conditions.step()
    conditions.show(verdict(node_verdict("a", "failed", "slow", check="runtime")))
    clock.seconds += 59
    await conditions.step()
    assert api.patched() == [("a", "False", "Slow")]
    clock.seconds += 1
    await conditions.step()
    assert api.patched() == [("a", "False", "Slow")]
    conditions.show(verdict(node_verdict("a", "failed", "port_down")))
    await conditions.step()
    assert api.patched() == [("a", "False", "PortDown")]


async def test_a_write_that_does_not_show_yet_is_not_repeated(clock):
    api = Api(kube_nodes("a"), echoes=False)
    conditions = NodeConditions(api, clock, lambda: api.nodes, lambda: True)
    conditions.show(verdict(node_verdict("a")))
    for _ in range(29):
        await conditions.step()
        clock.seconds += 1
    assert api.patched() == [("a", "True", "AllChecksOpen")]
    clock.seconds += 2
    await conditions.step()
    assert api.patched() == [("a", "True", "AllChecksOpen")]


async def test_somebody_elses_word_in_this_condition_is_put_right(api, conditions, clock):
    conditions.show(verdict(node_verdict("a")))
    await conditions.step()
    clock.seconds += 60
    api.nodes["a"] = replace(api.nodes["a"], conditions={TYPE: Condition("False", "Vandal", "", 0.0)})
    await conditions.step()
    assert api.patched() == [("a", "True", "AllChecksOpen")] * 2


async def test_a_node_of_the_same_name_made_anew_is_written_again(api, conditions):
    conditions.show(verdict(node_verdict("a")))
    await conditions.step()
    api.nodes["a"] = replace(api.nodes["a"], uid="another", conditions={})
    await conditions.step()
    assert [body["metadata"]["uid"] for _, _, body in api.sent] == ["uid-a", "another"]


async def test_only_the_leader_writes(api, clock):
    leads = [False]
    conditions = NodeConditions(api, clock, lambda: api.nodes, lambda: leads[0])
    conditions.show(verdict(*ROUND))
    await conditions.step()
    assert api.sent == []
    leads[0] = True
    await conditions.step()
    assert len(api.patched()) == 2
    leads[0] = False
    conditions.show(verdict(node_verdict("a", "failed", "port_down")))
    await conditions.step()
    assert api.sent == []


async def test_a_new_leader_takes_no_node_from_true_to_unknown_until_it_had_time_to_learn(api, conditions, clock):
    api.nodes["a"] = replace(api.nodes["a"], conditions={TYPE: Condition("True", "AllChecksOpen", "", 0.0)})
    conditions.show(verdict(node_verdict("a", "missing", "no_result"), node_verdict("b", "missing", "no_result")))
    await conditions.step()
    clock.seconds += 119
    await conditions.step()
    assert api.patched() == [("b", "Unknown", "NoResult")]
    clock.seconds += 1
    await conditions.step()
    assert api.patched() == [("a", "Unknown", "NoResult")]


async def test_a_new_leader_says_at_once_what_failed(api, conditions):
    api.nodes["a"] = replace(api.nodes["a"], conditions={TYPE: Condition("True", "AllChecksOpen", "", 0.0)})
    conditions.show(verdict(node_verdict("a", "failed", "port_down")))
    await conditions.step()
    assert api.patched() == [("a", "False", "PortDown")]


async def test_a_node_that_leaves_the_plan_no_longer_says_true(api, conditions, clock):
    conditions.show(verdict(node_verdict("a"), node_verdict("b")))
    await conditions.step()
    api.patched()
    clock.seconds += 120
    conditions.show(verdict(node_verdict("a")))
    await conditions.step()
    assert api.patched() == [("b", "Unknown", "NotPlanned")]


async def test_a_refusal_is_a_problem_with_its_verb_until_a_write_succeeds(api, conditions, clock):
    api.refuse.append(ApiRefusal(403, 'cannot patch resource "nodes/status"'))
    conditions.show(verdict(node_verdict("a")))
    await conditions.step()
    assert conditions.problem == (
        'patch nodes/status: 403 cannot patch resource "nodes/status" found, an answer wanted'
    )
    assert clock.seconds > 1000.0
    await conditions.step()
    assert (conditions.problem, api.patched()) == ("", [("a", "True", "AllChecksOpen")])


async def test_a_node_that_is_gone_is_no_problem(api, conditions):
    api.refuse.append(ApiRefusal(404, "not found"))
    conditions.show(verdict(node_verdict("a")))
    await conditions.step()
    assert (conditions.problem, api.sent) == ("", [])


async def test_a_thousand_nodes_are_written_a_few_at_once_and_their_heartbeats_spread():
    names = [f"n{number:04}" for number in range(1000)]
    api, clock = Api(kube_nodes(*names)), StillClock()
    conditions = NodeConditions(api, clock, lambda: api.nodes, lambda: True)
    conditions.show(verdict(*(node_verdict(name, "failed", "port_down") for name in names)))
    steps = 1
    while await conditions.step():
        steps += 1
    assert (steps, len(api.patched())) == (1000 // AT_ONCE, 1000)
    again = NodeConditions(api, clock, lambda: api.nodes, lambda: True, Pace())
    again.show(verdict(*(node_verdict(name, "failed", "port_down") for name in names)))
    most = 0
    for _ in range(601):
        while await again.step():
            pass
        most = max(most, len(api.patched()))
        clock.seconds += 1
    assert most < 20
