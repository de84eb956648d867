"""A node of the plan without a pod of rdma-gate is expected, since nobody would miss it otherwise."""

from exporter.cluster.agentless import agentless
from exporter.plan import Nodes, Plan, Pool
from exporter.settings import KnownMember
from probes._cluster import KubeNode

SELECTED, NAMED = {"gpu": "h100"}, {"of": "nothing"}
NODES = {
    "gpu-001": KubeNode("gpu-001", "1", SELECTED),
    "gpu-002": KubeNode("gpu-002", "2", SELECTED),
    "login": KubeNode("login", "3", {}),
    "old-001": KubeNode("old-001", "4", NAMED),
}
HERE = KnownMember("gpu-001", "http://10.0.0.1:9842", {"": "10.0.0.1"}, SELECTED)


def plan_of(*pools):
    return Plan("prod-eu-1", tuple(Pool(f"pool-{at}", nodes) for at, nodes in enumerate(pools)))


def test_nodes_that_a_pool_selects_or_names_are_members_without_an_address_and_no_others():
    plan = plan_of(Nodes(selector="gpu=h100"), Nodes(names=("old-001", "never-there")))
    assert agentless(plan, [HERE], NODES) == (
        KnownMember("gpu-002", "", {}, SELECTED),
        KnownMember("old-001", "", {}, NAMED),
    )


def test_without_a_plan_nothing_is_expected():
    assert agentless(None, [HERE], NODES) == ()
