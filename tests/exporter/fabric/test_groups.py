"""Every able node stands in a group each turn, and meets others the next."""

from itertools import combinations

from exporter.fabric.groups import NAME_AT_MOST_CHARACTERS, ExpectedGroup, expected_groups, group_of, turn_at
from exporter.plan import PlannedGroups

EIGHT = tuple(f"n{number}" for number in range(8))
PAIRS = PlannedGroups(8, nodes_per_group=2)


def nodes_of(planned, pool, able, turn=0):
    return [group.nodes for group in expected_groups(planned, pool, frozenset(able), turn)]


def test_pairs_hold_every_node_once_and_meet_every_other_within_seven_turns():
    met = set()
    for turn in range(7):
        groups = nodes_of(PAIRS, EIGHT, EIGHT, turn)
        assert sorted(node for group in groups for node in group) == sorted(EIGHT)
        met |= {*groups}
    assert met == set(combinations(EIGHT, 2))


def test_a_node_that_is_left_over_takes_another_one_with_it():
    groups = nodes_of(PlannedGroups(8, nodes_per_group=3), EIGHT, EIGHT)
    assert [len(group) for group in groups] == [3, 3, 3]
    assert {node for group in groups for node in group} == {*EIGHT}
    assert all(len({*group}) == 3 for group in groups)


def test_a_node_that_cannot_take_part_leaves_no_hole():
    groups = nodes_of(PAIRS, EIGHT, {*EIGHT} - {"n3", "n5"})
    assert sorted(node for group in groups for node in group) == ["n0", "n1", "n2", "n4", "n6", "n7"]


def test_too_few_nodes_for_a_group_are_none():
    assert nodes_of(PlannedGroups(8, nodes_per_group=4), EIGHT, {"n0", "n1", "n2"}) == []
    assert nodes_of(PAIRS, (), ()) == []


def test_the_whole_pool_and_named_groups_go_on_without_one_that_is_away_but_never_alone():
    assert nodes_of(PlannedGroups(8), EIGHT[:3], {"n0", "n2"}) == [("n0", "n2")]
    named = PlannedGroups(8, named={"row-1": ("n3", "n1", "n0"), "row-2": ("n4", "n5")})
    groups = expected_groups(named, EIGHT, frozenset({"n0", "n3", "n4"}), 0)
    assert groups == (ExpectedGroup("row-1", ("n3", "n0"), 8),)


def test_groups_of_one_node_are_each_node_by_itself():
    assert nodes_of(PlannedGroups(8, nodes_per_group=1), EIGHT[:3], {"n0", "n2"}) == [("n2",), ("n0",)]


def test_another_member_is_another_target_though_the_name_stays():
    one, other = (ExpectedGroup("whole-pool", nodes, 8).target for nodes in (("a", "b"), ("a", "c")))
    assert one != other
    assert one.partition("#")[0] == other.partition("#")[0] == "whole-pool"


def test_a_name_is_the_nodes_as_long_as_that_is_short():
    assert group_of(("gpu-002", "gpu-001"), 8).name == "gpu-001+gpu-002"
    many = group_of([f"gpu-node-{number:03}" for number in range(16)], 8)
    assert many.name.startswith("gpu-node-000+15-")
    assert len(many.name) <= NAME_AT_MOST_CHARACTERS


def test_the_turn_is_another_one_each_interval():
    assert [turn_at(now, 3600.0) for now in (7199.0, 7200.0, 10800.0)] == [1, 2, 3]
