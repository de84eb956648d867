"""placement.policy: whether device plugins give hints, as the kubelet's PodResources API tells."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from probes import Finding, Status
from probes.placement import _hints
from probes.placement.policy import Probe
from tests.probes.judging import judge


async def judge_hints(root: Path, *resources: str) -> list[Finding]:
    return await judge(root, Probe("", hinted=resources, pod_resources="/k.sock", answer_within=60))


async def test_hints_are_unknown_where_the_pod_resources_socket_is_not_mounted(tmp_path: Path) -> None:
    (finding,) = await judge_hints(tmp_path, "nvidia.com/gpu")
    assert (finding.status, finding.reason) == (Status.UNKNOWN, "hints_not_read")
    assert finding.summary.startswith("nvidia.com/gpu: /k.sock: no such socket found")


# v1.AllocatableResourcesResponse: two GPUs with NUMA nodes 0 and 1, two tokens of a shared plugin without
ALLOCATABLE = b"".join(
    [
        b"\x0a\x1c\x0a\x0envidia.com/gpu\x12\x04GPU0\x1a\x04\x0a\x02\x08\x00",
        b"\x0a\x1c\x0a\x0envidia.com/gpu\x12\x04GPU1\x1a\x04\x0a\x02\x08\x01",
        b"\x0a\x10\x0a\x08rdma/hca\x12\x010\x12\x011",
    ]
)


async def test_hints_are_those_that_the_kubelet_tells(tmp_path_factory: pytest.TempPathFactory) -> None:
    grpc = pytest.importorskip("grpc", reason="not run: grpcio is not installed")
    root = tmp_path_factory.mktemp("kubelet")
    answers = {"GetAllocatableResources": grpc.unary_unary_rpc_method_handler(lambda *_: ALLOCATABLE)}
    server = grpc.server(ThreadPoolExecutor(1))
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler("v1.PodResourcesLister", answers)])
    assert server.add_insecure_port(f"unix://{root}/k.sock")
    server.start()
    try:
        found = await judge_hints(root, "nvidia.com/gpu", "rdma/hca")
    finally:
        server.stop(None).wait()
    assert [(one.status, one.reason, one.summary) for one in found] == [
        (Status.PASS, "", "nvidia.com/gpu: 2 devices, all with hints, on NUMA nodes 0, 1"),
        (
            Status.FAIL,
            "topology_hints_missing",
            "rdma/hca: 2 of 2 devices without a NUMA node found, one for each wanted",
        ),
    ]


def test_a_resource_has_hints_when_each_of_its_devices_has_a_numa_node() -> None:
    hints = {"nvidia.com/gpu": [(0,), (1,)], "rdma/hca": [(), ()], "example.com/vf": [(0,), ()]}
    found = list(_hints.hint_findings(("nvidia.com/gpu", "rdma/hca", "example.com/vf", "example.com/none"), hints))
    assert [(one.status, one.reason, one.summary) for one in found] == [
        (Status.PASS, "", "nvidia.com/gpu: 2 devices, all with hints, on NUMA nodes 0, 1"),
        (
            Status.FAIL,
            "topology_hints_missing",
            "rdma/hca: 2 of 2 devices without a NUMA node found, one for each wanted",
        ),
        (
            Status.FAIL,
            "topology_hints_missing",
            "example.com/vf: 1 of 2 devices without a NUMA node found, one for each wanted",
        ),
        (Status.UNKNOWN, "hints_no_devices", "example.com/none: no healthy device found, one wanted"),
    ]
