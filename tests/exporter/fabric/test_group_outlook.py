"""Which runs of groups still tell something, and which nodes stand in the groups of the turn."""

from dataclasses import replace

import pytest
from msgspec import structs

from exporter.assignment import ProbeSpec
from exporter.fabric.group_outlook import COMES_FIRST, GroupOutlook
from exporter.fabric.groups import group_of
from exporter.fabric.outlook import Situation
from exporter.gate.group_results import facts_of_group
from exporter.ledger import Record
from exporter.plan import GroupTest, Nodes, Plan, PlannedGroups, Pool
from exporter.plan.digest_of_test import digest_of_test
from exporter.settings import KnownMember
from probes import End, Finding, Run, Status, Subject

NOW = 10_000.0
SPEC = ProbeSpec("transfers.collectives", "ar", {}, every_seconds=600.0, fresh_seconds=1800.0)


def record(
    nodes: str, status: str, ago: float, *, about: str = "", searches: bool = False, run_id: str = "ar"
) -> Record:
    group = group_of(nodes, 8)
    ends = tuple(End(node) for node in about)
    facts = facts_of_group(group.name, group.nodes, 16, searches=searches)
    found = Finding(Subject(nodes[0], group=group.name), Status(status), "", "", about=ends, facts=facts)
    run = Run("transfers.collectives", run_id, group.target, "host", (found,), 0, 1, "digest", "boot", "0.1")
    return Record(1, NOW - ago, run)


def outlook(*records: Record, **more: object) -> GroupOutlook:
    pool = Pool("p", Nodes(tuple("abcd")), group_tests=(GroupTest(SPEC, PlannedGroups(8, nodes_per_group=2)),))
    passed = dict.fromkeys("abcd", COMES_FIRST)
    situation = Situation(None, tuple(KnownMember(node) for node in "abcd"), passed, **more)
    return GroupOutlook(Plan("lab", (pool,), digest="digest"), situation, {one.key: one for one in records}, NOW)


def useless(*records: Record, **more: object) -> list[str]:
    return [key[2].partition("#")[0] for key in outlook(*records, **more).superseded()]


def nodes_in_groups(made: GroupOutlook) -> str:
    pool = made.plan.pools[0]
    return "".join(sorted(node for group in made.expected(pool, pool.group_tests[0]) for node in group.nodes))


def test_a_pass_is_of_use_until_each_of_its_nodes_has_passed_since():
    assert useless(record("ab", "pass", 20), record("ac", "pass", 10)) == []
    assert useless(record("ab", "pass", 20), record("ac", "pass", 10), record("bd", "pass", 5)) == ["a+b"]


def test_a_fault_is_of_use_until_it_passes_or_is_too_old_and_so_are_the_searches_for_it():
    newer = record("ac", "pass", 10), record("bd", "pass", 5)
    search = record("b", "pass", 7, searches=True)
    assert useless(record("ab", "fail", 20), search, *newer) == []
    assert useless(record("ab", "fail", 1900), search, *newer) == ["a+b", "b"]


def test_what_could_not_tell_is_of_no_use_once_its_nodes_have_passed():
    assert useless(record("ab", "unknown", 20), record("ac", "pass", 10), record("bd", "pass", 5)) == ["a+b"]


def test_a_run_of_another_test_or_with_a_node_that_left_is_of_no_use():
    assert useless(record("ab", "pass", 5, run_id="gone"), record("ax", "pass", 5)) == ["a+b", "a+x"]


@pytest.mark.parametrize(
    ("more", "left"),
    [
        ({}, "abcd"),
        ({"unready": {"b": "silent"}}, "acd" + "a"),
        ({"ruled_out": frozenset({("b", "transfers.collectives"), ("a", "transfers.collectives")})}, "cd"),
    ],
)
def test_only_nodes_that_can_take_part_stand_in_groups(more, left):
    found = nodes_in_groups(outlook(**more))
    assert ({*found}, len(found)) == ({*left}, len(left))


def test_a_node_that_is_known_to_be_at_fault_stands_in_none():
    assert "b" not in nodes_in_groups(outlook(record("ab", "fail", 10, about="b")))
    assert "b" in nodes_in_groups(outlook(record("ab", "fail", 10)))


def test_a_result_from_before_a_change_of_a_member_counts_as_none():
    made = outlook(record("ab", "pass", 10), record("cd", "pass", 10), changed={"b": NOW - 5})
    due = {node for one in made.waiting(frozenset()) for node in one.turn.group.nodes}
    assert {"a", "b"} <= due
    assert outlook(record("ab", "pass", 10), record("cd", "pass", 10)).waiting(frozenset()) == []


def test_what_was_put_off_has_no_turn():
    made = outlook()
    targets = {one.turn.group.target for one in made.waiting(frozenset())}
    assert made.waiting(frozenset(("ar", target) for target in targets)) == []


def test_a_result_under_another_plan_counts_as_none():
    made = outlook(record("ab", "pass", 10), record("cd", "pass", 10))
    other = replace(made, plan=replace(made.plan, digest="another"))
    assert (made.waiting(frozenset()), len(other.waiting(frozenset()))) == ([], 2)


def test_an_edit_beside_the_test_leaves_its_groups_and_one_of_it_or_of_their_size_makes_them_due():
    made = outlook(record("ab", "pass", 10), record("cd", "pass", 10))
    (pool,) = made.plan.pools
    stamped = {key: structs.replace(one, planned_as=digest_of_test(pool, SPEC)) for key, one in made.records.items()}

    def due(test: GroupTest) -> int:
        plan = replace(made.plan, pools=(replace(pool, group_tests=(test,)),), digest="another")
        return len(replace(made, plan=plan, records=stamped).waiting(frozenset()))

    groups = pool.group_tests[0].groups
    assert due(pool.group_tests[0]) == 0
    assert due(GroupTest(structs.replace(SPEC, settings={"message": 8}), groups)) == 2
    assert due(GroupTest(SPEC, replace(groups, nodes_per_group=4))) == 1
