"""The groups of a collective test are read with it, priced before anything is sent, and refused with a sentence."""

from functools import partial

import pytest

from exporter import registry
from exporter.assignment import ProbeSpec
from exporter.plan import GroupTest, PlanError, PlannedGroups
from exporter.plan.cost import bytes_of_run, plan_cost
from exporter.plan.group_cost import GroupShape, group_costs, group_shape
from exporter.plan.load import parse_plan
from exporter.settings import KnownMember
from probes._targets import Target

PLAN = """\
cluster: prod-eu-1
reviewed: {by: ana, on: 2026-11-02, ref: "git:3f2c9e1"}
pools:
  - name: h100
    nodes: {names: [gpu-001, gpu-002, gpu-003]}
    tests:
      - {id: ar, probe: transfers.collectives, groups: {nodes_per_group: 2, ranks_per_node: 8},
         collective: all_reduce, message: 1GiB, iterations: 20, every: 6h,
         targets: [{metric: bus_bandwidth, at_least: 340GB/s, source: "acceptance run 2026-03-02"}]}
budget: {tests_enabled: true, bytes_per_node_per_hour: 40GiB}
"""


def plan(*changes: tuple[str, str]):
    text = PLAN
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return parse_plan(text, registry.probes())


def mistakes(*changes: tuple[str, str]) -> tuple[str, ...]:
    with pytest.raises(PlanError) as caught:
        plan(*changes)
    return caught.value.lines


def test_a_collective_is_read_with_its_groups_beside_the_tests_of_paths():
    (pool,) = plan().pools
    assert pool.tests == ()
    assert pool.group_tests == (
        GroupTest(
            ProbeSpec(
                "transfers.collectives",
                "ar",
                {"collective": "all_reduce", "iterations": 20, "message": 2**30},
                21600.0,
                65040.0,
                240.0,
                (Target("bus_bandwidth", "acceptance run 2026-03-02", at_least=340e9),),
            ),
            PlannedGroups(8, nodes_per_group=2),
        ),
    )
    assert pool.every_test == (pool.group_tests[0].spec,)


@pytest.mark.parametrize(
    ("groups", "read"),
    [
        ("{whole_pool: true, ranks_per_node: 4}", PlannedGroups(4)),
        (
            "{named: {row-1: [gpu-001, gpu-003]}, ranks_per_node: 8}",
            PlannedGroups(8, named={"row-1": ("gpu-001", "gpu-003")}),
        ),
    ],
)
def test_groups_may_be_the_whole_pool_or_have_names(groups, read):
    (pool,) = plan(("{nodes_per_group: 2, ranks_per_node: 8}", groups)).pools
    assert pool.group_tests[0].groups == read


GROUPS = "groups: {nodes_per_group: 2, ranks_per_node: 8}"
TEST = "line 7: pools[0].tests[0]"
PLACE = f"{TEST}.groups"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (f" {GROUPS},", "", "line 7: pools[0].tests[0].groups: absent, groups wanted, as in "),
        (GROUPS, "groups: 2", f"{PLACE}: 2 found, groups wanted, as in {{nodes_per_group: 2, ranks_per_node: 8}}"),
        ("nodes_per_group: 2, ", "", f"{PLACE}: none of nodes_per_group, whole_pool, named found, one of them wanted"),
        (
            "nodes_per_group: 2",
            "nodes_per_group: 2, whole_pool: true",
            f"{PLACE}: nodes_per_group and whole_pool of nodes_per_group, whole_pool, named found, one of them wanted",
        ),
        ("nodes_per_group: 2", "node_per_group: 2", f"{PLACE}.node_per_group: unknown key, one of "),
        (
            "nodes_per_group: 2",
            "nodes_per_group: 0",
            f"{PLACE}.nodes_per_group: 0 found, a number from 1 to 1024",
        ),
        (
            "nodes_per_group: 2",
            "nodes_per_group: 4",
            f"{PLACE}.nodes_per_group: 4 found, at most the 3 nodes",
        ),
        (", ranks_per_node: 8", "", f"{PLACE}.ranks_per_node: absent, a number from 1 to 64 wanted"),
        (
            "ranks_per_node: 8",
            "ranks_per_node: '8'",
            f"{PLACE}.ranks_per_node: '8' found, a number from 1 to 64 wanted",
        ),
        ("nodes_per_group: 2", "whole_pool: false", f"{PLACE}.whole_pool: False found, true wanted"),
        ("nodes_per_group: 2", "named: {}", f"{PLACE}.named: {{}} found, groups by name wanted, as in "),
        ("nodes_per_group: 2", "named: {a: [x]}", f"{PLACE}.named.a: x found, nodes of pool h100 wanted"),
        ("nodes_per_group: 2", "named: {a: [x, x]}", f"{PLACE}.named.a: a node listed twice found, each once wanted"),
        (
            "nodes_per_group: 2, ranks_per_node: 8",
            "nodes_per_group: 1, ranks_per_node: 1",
            f"{PLACE}: one rank found, at least 2 wanted: one rank proves nothing",
        ),
        (
            "iterations: 20",
            "way: nccl_tests",
            f"{PLACE}: nccl_tests with groups of several nodes found",
        ),
        (
            "iterations: 20",
            "transport: intra_node",
            "line 8: pools[0].tests[0].transport: intra_node found with groups of 2 nodes, ",
        ),
        (
            "iterations: 20",
            "transport: tcp",
            f"{TEST}: transport: tcp found, one of rdma_gdr",
        ),
        (
            "all_reduce",
            "allreduce",
            "tests[0].collective: 'allreduce' found, one of all_gather, ",
        ),
        (
            "iterations: 20",
            "environment: {LD_PRELOAD: x}",
            f"{TEST}: environment: 'LD_PRELOAD' found",
        ),
        (
            "iterations: 20",
            "burst_limit: 4m",
            "line 7: pools[0].tests[0].limit_seconds: 240 found with a burst_limit of 240 s, more wanted",
        ),
        ("GB/s", "", "at_least: 340 found, a quantity with a unit wanted"),
    ],
)
def test_a_mistake_in_groups_is_said_at_its_place(old, new, said):
    assert any(said in line for line in mistakes((old, new))), mistakes((old, new))


def test_nccl_tests_are_refused_for_a_pool_of_nobody_knows_how_many_nodes():
    found = mistakes(
        ("names: [gpu-001, gpu-002, gpu-003]", 'selector: "gpu=h100", at_least: 2'),
        ("nodes_per_group: 2", "whole_pool: true"),
        ("iterations: 20", "way: nccl_tests"),
    )
    assert any("nccl_tests with groups of several nodes found" in line for line in found), found


def test_a_test_of_paths_has_no_groups():
    collective = "probe: transfers.collectives"
    lines = mistakes((collective, "probe: connectivity.ping_pong"))
    assert any("groups: unknown key" in line for line in lines)


def cost(*changes: tuple[str, str]):
    return plan_cost(
        plan(*changes),
        [KnownMember(f"gpu-00{number}") for number in (1, 2, 3)],
        partial(bytes_of_run, registry.probes()),
        partial(group_costs, modules=registry.probes()),
    )


def test_a_plan_says_what_its_collectives_cost_in_bytes_and_gpus():
    (pool,) = cost().pools
    # Two groups of two hold three nodes; each run sends 15/8 GiB out and in, 26 times.
    run_bytes = 2 * 26 * 15 * 2**30 // 8
    assert pool.bytes_per_node_per_hour == pytest.approx(run_bytes * 4 / 3 / 6)
    assert pool.gpu_seconds_per_hour == pytest.approx(4 * 8 * 20 / 6)
    assert pool.busy_share == pytest.approx(2 * 20 / 6 / 3600)
    assert (pool.hours_to_full_coverage, pool.unpriced) == (6.0, ())


def test_a_plan_whose_collective_is_over_its_budget_is_refused():
    assert cost().problems == ("ar: one run sends 104689827840 bytes, more than the whole budget of an hour",)
    assert cost(("40GiB", "100GiB")).problems == ()


@pytest.mark.parametrize(
    ("groups", "shape"),
    [
        (PlannedGroups(8, nodes_per_group=2), GroupShape(2, 4, 2)),
        (PlannedGroups(8, nodes_per_group=4), GroupShape(0, 0, 0)),
        (PlannedGroups(8), GroupShape(1, 3, 3)),
        (PlannedGroups(8, named={"a": ("x", "y"), "b": ("z",)}), GroupShape(2, 3, 2)),
    ],
)
def test_groups_have_a_number_and_a_size(groups, shape):
    assert group_shape(GroupTest(ProbeSpec("p", "p"), groups), 3) == shape
