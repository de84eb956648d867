"""Every field case of nccl-tests and of NCCL's log is decided as its reporter's text deserves."""

import json
from pathlib import Path
from typing import Any

import pytest

from exporter.judge import judge

CASES = Path(__file__).parents[2] / "fixtures" / "nccl_cases"
GB = 10**9
EXPECTED: list[tuple[str, tuple[str, ...], str, str, dict[str, Any]]] = [
    (
        "nccl_log-001",
        (),
        "fail",
        "device_open_failed",
        {"transport": "tcp", "tcp_fallback": True, "gpudirect": False, "rdma": False, "device": "mlx5_bond_0"},
    ),
    (
        "nccl_log-004",
        (),
        "fail",
        "no_peermem_module",
        {
            "transport": "rdma_host",
            "network_family": "ib",
            "rdma": True,
            "gpudirect": False,
            "host_staging": True,
            "tcp_fallback": False,
            "hosts": 2,
            "channel_net_lines": 4,
            "channel_gdrdma_lines": 0,
        },
    ),
    (
        "nccl_log-009",
        (),
        "unknown",
        "ranks_missing",
        {
            "network_family": "efa",
            "plugin": "aws-ofi-nccl",
            "rdma": True,
            "tcp_fallback": False,
            "nics": 16,
            "gpudirect": None,
        },
    ),
    (
        "nccl_log-012",
        (),
        "fail",
        "efa_not_visible",
        {"transport": "unknown", "networks": [], "hint": "dev_infiniband_not_exposed"},
    ),
    (
        "nccl_log-015",
        (),
        "fail",
        "retry_exceeded",
        {
            "completion_status": 12,
            "status_name": "IBV_WC_RETRY_EXC_ERR",
            "vendor_error": 129,
            "device": "mlx5_1",
            "subnets_differ": True,
        },
    ),
    (
        "nccl_log-018",
        (),
        "fail",
        "gpu_nic_distance",
        {"gpudirect": False, "distance": 6, "distance_class": "PHB", "distance_limit": 4, "gpu": "42000"},
    ),
    (
        "nccl_tests-001",
        ("bus_bandwidth=180GB/s", "ranks=16"),
        "pass",
        "",
        {
            "peak_bus_bytes_per_second": 185.35 * GB,
            "peak_bytes": 8589934592,
            "size_bytes": 8589934592,
            "bus_bandwidth_bytes_per_second": 185.35 * GB,
            "average_bus_bytes_per_second": 55.8354 * GB,
            "data_checked": False,
            "wrong": None,
            "ranks_implied": 16,
        },
    ),
    (
        "nccl_tests-004",
        (),
        "unknown",
        "no_target",
        {
            "peak_bus_bytes_per_second": 429.13 * GB,
            "peak_bytes": 2147483648,
            "average_bus_bytes_per_second": 51.9158 * GB,
            "rows_complete": 7,
            "truncated": True,
            "wrong": 0,
        },
    ),
    ("nccl_tests-004", ("bus_bandwidth=400GB/s",), "pass", "", {}),
    (
        "nccl_tests-007",
        ("bus_bandwidth=5GB/s",),
        "fail",
        "wrong_data",
        {"out_of_bounds": 216, "peak_bus_bytes_per_second": 10.91 * GB, "wrong_last_row": 536871000},
    ),
    (
        "nccl_tests-010",
        (),
        "fail",
        "nccl_internal_error",
        {
            "stage": "bootstrap",
            "rows_complete": 0,
            "nodes": 2,
            "hint": "nccl_version_mismatch_between_nodes",
            "network": ["IBext_v6"],
        },
    ),
    (
        "nccl_tests-013",
        (),
        "fail",
        "wrong_data",
        {"out_of_bounds": 2, "peak_bus_bytes_per_second": 127.76 * GB, "error_maximum": 1, "ranks_implied": 8},
    ),
    (
        "nccl_tests-016",
        ("bus_bandwidth=340GB/s",),
        "pass",
        "",
        {
            "peak_bus_bytes_per_second": 355.75 * GB,
            "peak_bytes": 17179869184,
            "collective": "all_reduce",
            "wrong": 0,
            "average_bus_bytes_per_second": 140.512 * GB,
        },
    ),
    (
        "nccl_tests-019",
        ("bus_bandwidth=1GB/s",),
        "unknown",
        "incomplete",
        {
            "results_complete": 1,
            "distinct_results": 2,
            "collectives": ["", "broadcast"],
            "peak_bus_bytes_per_second": 21.53 * GB,
            "average_bus_bytes_per_second": 6.5967 * GB,
            "data_checked": True,
        },
    ),
    (
        "nccl_tests-022",
        (),
        "fail",
        "wrong_data",
        {"out_of_bounds": 248, "rows_complete": 0, "bus_bandwidth_bytes_per_second": None},
    ),
]


def test_every_handed_case_is_decided():
    assert {path.stem for path in CASES.glob("*.json")} == {name for name, *_ in EXPECTED}


@pytest.mark.parametrize(("name", "targets", "status", "reason", "values"), EXPECTED)
def test_a_field_case_is_decided_as_its_text_deserves(name, targets, status, reason, values):
    kind = name.partition("-")[0].replace("_", "-")
    text = json.loads((CASES / f"{name}.json").read_text())["input"]
    said = judge(kind, text, targets).as_json()
    assert (said["status"], said["reason"]) == (status, reason), said["summary"]
    assert {key: said["values"][key] for key in values} == values


@pytest.mark.parametrize("name", sorted({row[0] for row in EXPECTED}))
def test_a_cut_case_never_passes_nor_raises(name):
    kind = name.partition("-")[0].replace("_", "-")
    text = json.loads((CASES / f"{name}.json").read_text())["input"]
    targets = ("bus_bandwidth=1kB/s",) if kind == "nccl-tests" else ()
    for end in range(0, text.rfind("Out of bounds") if "Out of bounds" in text else len(text), 17):
        assert judge(kind, text[:end], targets).status != "pass", text[:end][-80:]
