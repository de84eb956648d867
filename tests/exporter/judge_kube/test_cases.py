"""Every field case about Kubernetes is decided as its text deserves."""

import json
from pathlib import Path
from typing import Any

import pytest

from exporter.judge import judge

CASES = Path(__file__).parents[2] / "fixtures" / "kube_cases"
EXPECTED: list[tuple[str, str, str, dict[str, Any]]] = [
    (
        "k8s_node-001",
        "fail",
        "rdma_resource_zero",
        {
            "gpu_capacity": 7,
            "gpu_allocatable": 7,
            "rdma": {"rdma/rdma_shared_device_a": {"capacity": 0, "allocatable": 0}},
            "valid_json": False,
        },
    ),
    (
        "k8s_node-004",
        "fail",
        "rdma_resource_absent",
        {"gpu_allocatable": 16, "rdma": {}, "gpu_count_may_be_virtual": True},
    ),
    (
        "k8s_pod-001",
        "pass",
        "",
        {
            "secondary_networks": 1,
            "interface": "net1",
            "ips": ["10.56.217.2"],
            "pci": "0000:03:00.3",
            "rdma_device": "mlx5_4",
            "gateway_is_nil_text": True,
        },
    ),
    (
        "k8s_pod-005",
        "fail",
        "no_rdma_resource",
        {
            "gpu": 4,
            "rdma": {},
            "ipc_lock": False,
            "networks": [],
            "node_name_pinned": True,
            "reasons": ["no_rdma_resource", "no_ipc_lock", "no_network_annotation"],
        },
    ),
    (
        "plugin_config-002",
        "unknown",
        "served_unknown",
        {
            "resource": "rdma/rdma_shared_device_a",
            "rdma_hca_max": 1000,
            "vendors": ["15b3"],
            "device_ids": ["1017", "1021", "101b"],
            "mode": "plugin_registry",
            "devices_found": 1,
            "served": "unknown",
        },
    ),
    (
        "plugin_config-006",
        "fail",
        "vf_configuration_failed",
        {"registered": True, "devices_exposed": 0, "mode": "sriov", "pf": "enp97s0f0", "max_vfs": 4},
    ),
    (
        "events-001",
        "fail",
        "device_plugin_crashed",
        {
            "reason": "UnexpectedAdmissionError",
            "cause": "device_plugin_crashed",
            "capacity_shortage": False,
            "retryable_by_scheduler": False,
        },
    ),
    (
        "events-005",
        "fail",
        "insufficient_resource",
        {
            "reason": "FailedScheduling",
            "nodes_total": 6,
            "causes": {"didn't match node selector": 3, "Insufficient nvidia.com/gpu": 6},
            "causes_sum": 9,
            "sum_exceeds_nodes": True,
        },
    ),
    (
        "events-009",
        "fail",
        "topology_rejected",
        {
            "reason": "TopologyAffinityError",
            "phase": "Failed",
            "cause": "numa_alignment",
            "retryable_by_scheduler": False,
            "capacity_shortage": False,
        },
    ),
]
KINDS = {"k8s_node": "k8s-node", "k8s_pod": "k8s-pod", "plugin_config": "plugin-config", "events": "events"}


@pytest.mark.parametrize(("name", "status", "reason", "values"), EXPECTED)
def test_the_case_is_decided_as_its_text_deserves(name: str, status: str, reason: str, values: dict[str, Any]) -> None:
    case = json.loads((CASES / f"{name}.json").read_text())
    answer = judge(KINDS[case["area"]], case["input"]).as_json()
    assert (answer["status"], answer["reason"]) == (status, reason)
    assert {key: answer["values"][key] for key in values} == values


def test_every_handed_case_is_decided() -> None:
    assert {path.stem for path in CASES.glob("*.json")} == {name for name, *_ in EXPECTED}
