"""Collectives count for check 7 of each node of their group, and a bad node closes itself alone once it is told."""

from collections.abc import Callable

import pytest
from msgspec import structs

from exporter.assignment import ProbeSpec
from exporter.fabric.groups import group_of
from exporter.gate.changes import NodeHistory
from exporter.gate.explain import explain
from exporter.gate.group_results import facts_of_group
from exporter.gate.inputs import GateGroup, MemberState
from exporter.gate.snapshot import Taking, take_snapshot
from exporter.plan import GroupTest, PlannedGroups
from exporter.plan.digest_of_test import digest_of_test
from probes import End, Finding, Run, Status, Subject

PROBE = "transfers.collectives"
COMMAND = "python3 -m probes.collective_rank"
SPEC = ProbeSpec(PROBE, "ar", {"message": 2**30}, every_seconds=60.0, fresh_seconds=300.0)


@pytest.fixture
def groups(make) -> Callable[..., "Groups"]:
    """``groups("a", "b", ...)`` is a cluster of these nodes that passes all but the collectives, of which none ran."""
    from tests.exporter.gate.conftest import World

    def one(*names: str, size: int = 2) -> Groups:
        world = World(names=names)
        world.tests = [one for one in world.tests if one.probe != PROBE]
        world.group_tests = (GroupTest(SPEC, PlannedGroups(8, nodes_per_group=size)),)
        return Groups(world.pass_all())

    return one


class Groups:
    """``saw("ab", ...)`` is the last run of the collective in the group of a and b."""

    def __init__(self, world) -> None:
        self.world = world

    def saw(self, nodes: str, status="pass", reason="", *, about="", purpose="plan", **more):
        group = group_of(nodes, 8)
        facts = facts_of_group(group.name, group.nodes, 16, searches=purpose != "plan")
        facts |= {"command": COMMAND, "transport": "rdma_gdr", "message_bytes": "1073741824"}
        ends = tuple(End(node) for node in about)
        subject = Subject(nodes[0], group=group.name)
        summary = f"{group.name}: {reason or 'as planned'} found, a clean run wanted"
        found = Finding(subject, Status(status), reason, summary, about=ends, facts=facts)
        run = Run(PROBE, "ar", group.target, "host", (found,), 0.0, 1.0, self.world.digest, "boot-gate", "0.1.0")
        self.world.put(run, **more)
        return self

    def expects(self, *groups: str):
        made = [group_of(nodes, 8) for nodes in groups]
        self.world.groups = tuple(GateGroup(one.target, one.name, one.nodes, "p", "ar") for one in made)
        return self

    def transfers(self, node: str):
        return self.world.check(node, "transfers")

    def statuses(self) -> dict[str, str]:
        return {name: self.transfers(name).status.value for name in self.world.names}

    def item(self, node: str) -> tuple[str, str, str]:
        (item,) = [one for one in self.transfers(node).items if one.probe == PROBE]
        return item.status.value, item.reason, item.summary


def test_a_group_that_passes_opens_each_of_its_nodes(groups):
    assert groups("a", "b").saw("ab").world.verdict().is_open


def test_a_planned_collective_without_a_result_is_missing(groups):
    cluster = groups("a", "b").expects("ab")
    assert cluster.item("a") == ("missing", "no_result", "ar: a+b not tested yet, a result wanted")
    assert cluster.statuses() == {"a": "missing", "b": "missing"}


def test_a_node_that_stands_in_no_group_is_unknown(groups):
    assert groups("a", "b").item("a") == (
        "unknown",
        "no_group",
        "ar: no group of a found, one with nodes that can take part wanted",
    )


def test_a_fault_without_blame_closes_the_whole_group(groups):
    cluster = groups("a", "b", "c", "d").saw("ab", "fail", "tcp_fallback").saw("cd")
    assert cluster.statuses() == {"a": "failed", "b": "failed", "c": "pass", "d": "pass"}


def test_a_fault_that_names_its_node_leaves_the_other_to_prove_itself_elsewhere(groups):
    cluster = groups("a", "b", "c", "d").saw("ab", "fail", "rank_died", about="b").saw("cd").expects("ac")
    assert cluster.statuses() == {"a": "missing", "b": "failed", "c": "pass", "d": "pass"}
    assert cluster.transfers("a").left_out == ("a+b: a+b is blamed on b",)
    assert cluster.saw("ac").statuses() == {"a": "pass", "b": "failed", "c": "pass", "d": "pass"}


def test_other_groups_tell_which_node_made_one_fail(groups):
    cluster = groups("a", "b", "c", "d").saw("cd", received=groups("a").world.now - 100)
    cluster.saw("ab", "fail", "no_completion").saw("ac", "fail", "no_completion").saw("bd")
    assert cluster.statuses() == {"a": "failed", "b": "pass", "c": "pass", "d": "pass"}


def test_what_is_unknown_or_unconfirmed_does_not_open(groups):
    cluster = groups("a", "b").saw("ab", "unknown", "unconfirmed")
    assert cluster.statuses() == {"a": "unknown", "b": "unknown"}


def test_a_fault_is_not_outrun_by_a_newer_pass_of_another_group(groups):
    cluster = groups("a", "b", "c").saw("ab", "fail", "host_staged").saw("ac").saw("bc")
    assert cluster.statuses()["a"] == "failed"


def test_an_old_result_is_stale_and_so_is_one_from_before_a_change_of_a_member(groups):
    now = groups("a").world.now
    cluster = groups("a", "b").saw("ab", received=now - 301)
    assert cluster.item("a") == ("stale", "stale", "ar: a+b: 5 min old, at most 5 min wanted")
    cluster = groups("a", "b", "c").saw("ab")
    cluster.world.more["histories"] = {"b": NodeHistory({}, now - 5, "driver changed from 1 to 2")}
    assert cluster.item("a")[2] == "ar: a+b: b: driver changed from 1 to 2 since, a run after that wanted"


def test_a_stale_fault_does_not_hold_a_node_that_has_proved_itself_since(groups):
    now = groups("a").world.now
    cluster = groups("a", "b", "c").saw("ab", "fail", "tcp_fallback", received=now - 400).saw("ac").saw("bc")
    assert cluster.statuses() == {"a": "pass", "b": "pass", "c": "pass"}


def test_a_run_under_another_plan_is_stale(groups):
    assert groups("a", "b").saw("ab", plan_digest="old").item("a")[:2] == ("stale", "stale")


def test_a_group_counts_under_another_plan_while_its_own_test_is_planned_the_same(groups):
    cluster = groups("a", "b")
    planned = digest_of_test(cluster.world.plan().pools[0], SPEC)
    cluster.saw("ab", planned_as=planned, plan_digest="old")
    assert cluster.item("a")[:2] == ("pass", "")
    edited = structs.replace(SPEC, settings={"message": 2**20})
    cluster.world.group_tests = (GroupTest(edited, PlannedGroups(8, nodes_per_group=2)),)
    found, wanted = planned[:12], digest_of_test(cluster.world.plan().pools[0], edited)[:12]
    why = f"test with other settings, targets, groups or ends ({found}) found, one as planned now ({wanted}) wanted"
    assert cluster.item("a") == ("stale", "stale", f"ar: a+b: {why}")


def test_a_node_whose_earlier_checks_are_shut_waits_for_them(groups):
    cluster = groups("a", "b", "c").saw("ab")
    cluster.world.host("access.ports", "b", Finding(Subject("b", "mlx5_0"), Status.FAIL, "port_down", "down"))
    assert cluster.item("b") == ("blocked", "blocked", "ar: waits, b access failed")
    assert cluster.item("a")[0] == "pass"


def test_a_fault_with_a_node_that_is_away_leaves_the_others_denominator(groups):
    cluster = groups("a", "b", "c").saw("ab", "fail", "no_completion").saw("ac")
    cluster.world.states["b"] = MemberState.SILENT
    assert cluster.statuses()["a"] == "pass"
    assert "a+b: b silent" in cluster.transfers("a").left_out


def test_a_group_with_a_node_that_left_the_pool_does_not_count(groups):
    cluster = groups("a", "b").saw("ax").expects("ab")
    assert cluster.item("a")[:2] == ("missing", "no_result")


def test_a_group_that_was_made_for_blame_is_no_proof(groups):
    cluster = groups("a", "b", size=4).saw("ab", purpose="blame").expects("ab")
    assert cluster.item("a")[:2] == ("missing", "no_result")


def test_decisions_cover_a_collective_on_their_nodes_alone(groups, make):
    cluster = groups("a", "b").saw("ab", "fail", "host_staged")
    cluster.world.decisions = [make.decision(PROBE, "accepted_exception", nodes=("a",))]
    assert cluster.statuses() == {"a": "accepted", "b": "failed"}
    cluster.world.decisions = [make.decision(PROBE, nodes=("a",))]
    assert cluster.item("a")[0] == "not_applicable"


def test_a_pool_without_a_planned_collective_lacks_a_required_probe(groups):
    cluster = groups("a", "b").saw("ab")
    cluster.world.group_tests = ()
    assert cluster.item("a")[:2] == ("missing", "not_planned")


def test_explanation_and_snapshot_have_the_collective_with_command_size_and_transport(groups):
    cluster = groups("a", "b").saw("ab", "fail", "host_staged")
    verdict = cluster.world.verdict()
    (item,) = [one for one in explain(verdict, "a", "transfers").items if one.probe == PROBE]
    assert (item.target, item.found, item.command) == (
        group_of("ab", 8).target,
        "host_staged",
        COMMAND,
    )
    assert item.next_step.startswith("ask GPU engineering: ")
    snapshot = take_snapshot(verdict, cluster.world.inputs(), lambda _: None, Taking("ana"))
    checks = snapshot["pools"][0]["nodes"][0]["checks"]
    (result,) = [one for one in checks[-1]["results"] if one["probe"] == PROBE]
    assert (result["group"], result["facts"]["transport"], result["facts"]["message_bytes"]) == (
        "a+b",
        "rdma_gdr",
        "1073741824",
    )
    assert snapshot["coverage"]["groups_tested"] == 1
    assert snapshot["coverage"]["buffers"] == "host memory on paths; GPU memory in collectives"
