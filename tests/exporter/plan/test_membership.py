"""Nodes stand in pools by name or label, and each gets its own work."""

from exporter.assignment import Assignment, Member
from exporter.plan import Nodes, Plan, Pool
from exporter.plan.assignments import assignment_for, withdrawal
from exporter.plan.load import parse_plan
from exporter.plan.membership import membership_problems, pool_nodes, pool_of
from exporter.plan.selector import selects
from exporter.settings import KnownMember

GPU = {"type": "gpu8"}
MEMBERS = [
    KnownMember("n2", "http://n2:9842", {"": "10.0.0.2"}, GPU),
    KnownMember("n1", "http://n1:9842", {"mlx5_0": "10.0.0.1"}, GPU | {"cordoned": ""}),
    KnownMember("n3", "http://n3:9842", {}, {"type": "cpu"}),
]


def plan(*pools: Pool) -> Plan:
    return Plan("lab", pools, digest="d")


def test_a_selector_picks_members_by_label():
    assert selects("type=gpu8,!cordoned", GPU)
    assert not selects("type=gpu8,!cordoned", GPU | {"cordoned": ""})
    assert selects("type!=gpu8", {})
    assert not selects("", GPU)


def test_pools_are_filled_by_selector_in_the_order_of_names():
    pools = plan(Pool("gpu", Nodes(selector="type==gpu8")), Pool("named", Nodes(("n3", "n4"))))
    assert pool_nodes(pools, MEMBERS) == {"gpu": ("n1", "n2"), "named": ("n3", "n4")}


def test_a_node_stands_in_one_pool_and_its_name_counts_more_than_a_selector():
    pools = plan(Pool("gpu", Nodes(selector="type")), Pool("named", Nodes(("n1",))))
    assert pool_nodes(pools, MEMBERS) == {"gpu": ("n2", "n3"), "named": ("n1",)}
    assert list(membership_problems(pools, MEMBERS)) == ["n1: in pools gpu and named, one of them wanted"]


def test_what_does_not_fit_between_plan_and_members_is_said():
    pools = plan(Pool("gpu", Nodes(selector="type=gpu8", at_least=3)), Pool("named", Nodes(("n4",))))
    assert list(membership_problems(pools, MEMBERS)) == [
        "pool named: n4 found in the plan, members of these names wanted",
        "pool gpu: 2 nodes found, at least 3 wanted",
    ]


def test_a_node_gets_its_pools_work_with_its_pools_members(changed, modules):
    read = parse_plan(changed(("gpu-001, gpu-002", "n1, n2")), modules)
    (pool,) = read.pools
    assert assignment_for(read, "n2", MEMBERS, 7) == Assignment(
        cluster="prod-eu-1",
        node="n2",
        pool="h100",
        plan_digest=read.digest,
        reviewed=True,
        term=7,
        hcas=dict(pool.hcas),
        probes=pool.probes,
        tests=pool.tests,
        members=(
            Member("n2", "http://n2:9842", {"": "10.0.0.2"}),
            Member("n1", "http://n1:9842", {"mlx5_0": "10.0.0.1"}),
        ),
        budget=read.budget,
    )


def test_a_node_outside_the_plan_gets_no_work(changed, modules):
    read = parse_plan(changed(), modules)
    assert assignment_for(read, "n3", MEMBERS, 1) is None
    assert pool_of(read, "n3", MEMBERS) is None


def test_a_node_that_the_plan_has_no_place_for_gets_nothing_to_do():
    assignment = withdrawal(plan(), "stranger", 3)
    assert (assignment.node, assignment.pool, assignment.probes, assignment.tests, assignment.term) == (
        "stranger",
        "",
        (),
        (),
        3,
    )
    assert not assignment.budget.tests_enabled
