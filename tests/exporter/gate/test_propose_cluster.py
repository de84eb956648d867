"""A plan proposed from a cluster's facts: pools by what nodes can give out, nothing agreed, all doubts said."""

from exporter import registry
from exporter.gate.pools_seen import PoolSeen, pools_seen
from exporter.gate.propose_cluster import propose_from_cluster
from exporter.plan import Nodes
from exporter.plan.load import parse_plan
from probes._cluster import Unread
from probes._workloads import Condition
from tests.fixtures.kube_facts import facts

TYPE = "node.kubernetes.io/instance-type"
SOURCE = "rdma/hca_a: 1000 tokens by ConfigMap network-operator/rdma-devices key config.json"


def gpu_nodes(count, kind="gpu8", resources=facts.RESOURCES, first=1, **more):
    names = [f"{kind}-{number:03}" for number in range(first, first + count)]
    return {name: facts.node(name, resources, labels={TYPE: kind}, **more) for name in names}


def seen(*groups, **more):
    return pools_seen(facts.cluster(nodes={name: node for group in groups for name, node in group.items()}, **more))


def test_nodes_that_are_alike_are_a_pool_picked_by_their_type_with_what_the_plugin_says():
    nodes = gpu_nodes(3)
    pods = tuple(facts.pod(facts.shared_plugin(), name) for name in nodes)
    assert seen(nodes, gpu_nodes(2, "cpu", {}), plugin_pods=pods) == (
        PoolSeen(
            ("gpu8-001", "gpu8-002", "gpu8-003"),
            f"{TYPE}=gpu8",
            {"nvidia.com/gpu": 8, "rdma/hca_a": 1000},
            (SOURCE,),
        ),
    )


def test_one_node_with_fewer_devices_is_a_doubt_and_not_the_measure():
    broken = gpu_nodes(1, resources={"nvidia.com/gpu": (8, 7), "rdma/hca_a": (1000, 1000)}, first=4)
    (pool,) = seen(gpu_nodes(3), broken)
    assert pool.resources == {"nvidia.com/gpu": 8, "rdma/hca_a": 1000}
    assert pool.doubts == ("nvidia.com/gpu: 8 on most nodes, other numbers on gpu8-004 7",)


def test_of_two_counts_as_frequent_the_larger_is_taken():
    (pool,) = seen(gpu_nodes(1), gpu_nodes(1, resources={"nvidia.com/gpu": (8, 0), "rdma/hca_a": (1000, 0)}, first=2))
    assert pool.resources == {"nvidia.com/gpu": 8, "rdma/hca_a": 1000}


def test_nodes_of_one_type_with_other_resources_are_pools_by_name_and_the_lack_is_a_doubt():
    without = gpu_nodes(1, resources={"nvidia.com/gpu": (8, 8)}, first=3)
    first, second = seen(gpu_nodes(2), without)
    assert (first.selector, first.nodes) == ("", ("gpu8-001", "gpu8-002"))
    assert (second.selector, second.nodes) == ("", ("gpu8-003",))
    assert second.doubts == ("GPUs without RDMA: has its plugin failed, is it DRA, or has this pool none?",)


def test_cordoned_and_unready_nodes_count_and_are_said():
    away = gpu_nodes(1, first=2, unschedulable=True)
    unready = gpu_nodes(1, first=3, conditions={"Ready": Condition("False")})
    (pool,) = seen(gpu_nodes(1), away, unready)
    assert len(pool.nodes) == 3
    assert pool.doubts == ("not Ready or cordoned: gpu8-002, gpu8-003; they count as seen",)


def test_the_plan_can_be_read_back_is_unreviewed_and_holds_what_was_found():
    nodes = {**gpu_nodes(3), **gpu_nodes(2, "gpu4", {"nvidia.com/gpu": (4, 4), "rdma/ib": (1, 1)})}
    proposal = propose_from_cluster("prod", facts.cluster(nodes=nodes), registry.probes())
    plan = parse_plan(proposal.text, registry.probes())
    assert (plan.cluster, plan.reviewed, proposal.pools) == ("prod", None, 2)
    assert [(pool.name, pool.nodes) for pool in plan.pools] == [
        ("gpu8", Nodes((), f"{TYPE}=gpu8", 3)),
        ("gpu4", Nodes((), f"{TYPE}=gpu4", 2)),
    ]
    settings = {spec.probe: spec.settings for spec in plan.pools[1].probes}
    assert settings["visibility.allocatable"] == {"resources": {"nvidia.com/gpu": 4, "rdma/ib": 1}}
    assert plan.pools[0].tests == ()


def test_what_a_person_must_decide_is_said_with_what_could_not_be_read():
    unread = Unread("daemonsets.apps", "list", "rbac_denied", "no role")
    cluster = facts.cluster(nodes=gpu_nodes(2), unread=(unread,))
    assert propose_from_cluster("prod", cluster, registry.probes()).to_decide == (
        f"not read: {unread}",
        "pool gpu8: 2 nodes seen; how many must be open (at_least)?",
        "pool gpu8: its HCAs; `rdma-gate plan propose --machine` on one of its nodes prints those it has",
        "targets of the tests, each with the source that agreed it",
        "reviewed: by, on and ref",
    )


def test_a_cluster_without_gpus_and_rdma_has_no_pools():
    assert seen(gpu_nodes(2, "cpu", {})) == ()
