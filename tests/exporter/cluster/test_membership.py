"""The members are those that the Service's EndpointSlices name, and who is out of service is in maintenance."""

import pytest

from exporter.cluster.maintenance import SRIOV_STATE, maintenance_of
from exporter.cluster.membership import Membership
from exporter.settings import KnownMember
from probes._cluster import KubeNode, Taint
from tests.exporter.cluster.conftest import running, settings_for, until

MOFED = "network.nvidia.com/operator.mofed"
BASE = "/apis/discovery.k8s.io/v1/endpointslices"


def end(node, address, **conditions):
    return {"nodeName": node, "addresses": [address], "conditions": conditions}


def endpoint_slice(name, *ends, service="rdma-gate-nodes", port=9842):
    meta = {"namespace": "rdma-gate", "name": name, "labels": {"kubernetes.io/service-name": service}}
    return {"metadata": meta, "endpoints": list(ends) or None, "ports": [{"name": "http", "port": port}]}


def tainted(key):
    return KubeNode("a", "u", taints=(Taint(key, "", "NoSchedule"),))


@pytest.fixture
def membership(connection, clock, tmp_path):
    return Membership(connection, settings_for(tmp_path), clock, lambda: None)


async def members(membership, nodes=None):
    async with running(membership.run()):
        await until(lambda: membership.synced)
        return membership.members(nodes or {})


async def test_each_node_of_the_service_is_a_member_with_address_port_and_its_nodes_labels(api, membership):
    api.put(BASE, endpoint_slice("a", end("gpu-001", "10.0.0.1", ready=True), end("gpu-002", "10.0.0.2", ready=False)))
    api.put(BASE, endpoint_slice("b", end("gpu-003", "fd00::3", ready=None), port=9900))
    api.put(BASE, endpoint_slice("c", end("gpu-009", "10.0.0.9"), service="another"))
    nodes = {"gpu-001": KubeNode("gpu-001", "u", labels={"pool": "h100"})}
    assert await members(membership, nodes) == (
        KnownMember("gpu-001", "http://10.0.0.1:9842", {"": "10.0.0.1"}, {"pool": "h100"}),
        KnownMember("gpu-002", "http://10.0.0.2:9842", {"": "10.0.0.2"}),
        KnownMember("gpu-003", "http://[fd00::3]:9900", {"": "fd00::3"}),
    )


async def test_of_two_pods_of_a_node_the_ready_one_is_reached_and_a_terminating_one_never(api, membership):
    api.put(BASE, endpoint_slice("a", end("gpu-001", "10.0.0.8", ready=False), end("gpu-001", "10.0.0.1", ready=True)))
    api.put(BASE, endpoint_slice("b", end("gpu-002", "10.0.0.2", ready=True, terminating=True)))
    assert await members(membership) == (KnownMember("gpu-001", "http://10.0.0.1:9842", {"": "10.0.0.1"}),)


async def test_a_service_without_endpoints_has_no_members(api, membership):
    api.put(BASE, endpoint_slice("a"))
    assert await members(membership) == ()


@pytest.mark.parametrize(
    ("node", "reason"),
    [
        (KubeNode("a", "u"), ""),
        (KubeNode("a", "u", unschedulable=True), "cordoned"),
        (KubeNode("a", "u", unschedulable=True, deleting=True), "being deleted, cordoned"),
        (
            KubeNode("a", "u", taints=(Taint("ToBeDeletedByClusterAutoscaler", "1", "NoSchedule"),)),
            "the autoscaler removes it",
        ),
        (tainted("nvidia.com/gpu"), ""),
        (
            KubeNode("a", "u", labels={"network.nvidia.com/operator.mofed.wait": "true"}),
            "its network driver is being loaded",
        ),
        (KubeNode("a", "u", labels={f"{MOFED}.wait": "false"}), ""),
        (KubeNode("a", "u", annotations={SRIOV_STATE: "Draining"}), "the SR-IOV operator says Draining"),
        (KubeNode("a", "u", annotations={SRIOV_STATE: "Idle"}), ""),
    ],
)
def test_a_node_that_somebody_took_out_of_service_says_why(node, reason):
    assert maintenance_of(node) == reason
