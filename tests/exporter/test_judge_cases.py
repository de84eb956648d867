"""Every field case is decided as its reporter's text deserves, with all its facts in base units."""

import json
from pathlib import Path
from typing import Any

import pytest

from exporter.judge import judge

CASES = Path(__file__).parents[1] / "fixtures" / "cases"
GIGABIT = 125_000_000
KINDS = {
    "perftest": "perftest",
    "pingpong": "pingpong",
    "devinfo": "ibv-devinfo",
    "ibstat": "ibstat",
    "rdma_link": "rdma-link",
}

EXPECTED: list[tuple[str, tuple[str, ...], str, str, dict[str, Any]]] = [
    (
        "perftest-001",
        (),
        "unknown",
        "no_target",
        {
            "unit": "MB/sec",
            "average_bytes_per_second": 23695.87 * 2**20,
            "distinct_results": 1,
            "message_bytes": 8388608,
            "link_layer": "InfiniBand",
        },
    ),
    ("perftest-001", ("bandwidth=195Gbit/s",), "pass", "", {}),
    ("perftest-001", ("bandwidth=199Gbit/s",), "fail", "missed_target", {}),
    (
        "perftest-004",
        ("bandwidth=90Gbit/s",),
        "pass",
        "",
        {
            "average_bytes_per_second": int(97.62 * GIGABIT),
            "queue_pairs": 4,
            "rdma_cm": True,
            "tos": 41,
            "link_layer": "Ethernet",
            "gid_index": 3,
            "local_gid": "::ffff:10.50.4.33",
        },
    ),
    (
        "perftest-007",
        ("bandwidth=100Gbit/s",),
        "unknown",
        "small_message",
        {
            "device": "ib0",
            "link_layer": "Ethernet",
            "average_bytes_per_second": int(0.48 * GIGABIT),
            "message_rate_per_second": 7423631,
            "message_bytes": 8,
            "peak_bytes_per_second": None,
        },
    ),
    ("perftest-007", ("message_rate=7Mpps",), "pass", "", {}),
    (
        "perftest-010",
        (),
        "fail",
        "gpu_memory_registration_failed",
        {"errno": "EFAULT", "memory": "cuda", "hint": "nvidia_peermem", "crashed": True, "gpu_is_vgpu": True},
    ),
    (
        "perftest-013",
        (),
        "fail",
        "memory_registration_failed",
        {"memory": "host", "transport": "iWARP", "software_device": True, "crashed": True, "gid_index": 0},
    ),
    (
        "perftest-018",
        ("bandwidth=1Gbit/s",),
        "unknown",
        "incomplete",
        {
            "rows_complete": 1,
            "rows_truncated": 1,
            "average_bytes_per_second": int(42.52 * GIGABIT),
            "same_size_rows": True,
        },
    ),
    ("perftest-021", (), "fail", "no_result", {"result_present": False}),
    (
        "perftest-024",
        ("bandwidth=1kbit/s",),
        "unknown",
        "sweep_incomplete",
        {"rows_complete": 5, "unstable_message_bytes": [256], "message_bytes": 256},
    ),
    (
        "pingpong-001",
        ("throughput=7000Mbit/s", "round_trip=9.5us"),
        "pass",
        "",
        {"throughput_bytes_per_second": 945987500, "round_trip_seconds": 8.66e-6, "iterations": 1000},
    ),
    ("pingpong-001", (), "unknown", "no_target", {}),
    (
        "devinfo-001",
        (),
        "pass",
        "",
        {
            "device": "rxe0",
            "state": "ACTIVE",
            "link_layer": "unknown",
            "software_device": True,
            "fabric_grade": False,
            "active_mtu_bytes": 1024,
            "max_mtu_bytes": 4096,
        },
    ),
    (
        "devinfo-004",
        (),
        "fail",
        "port_down",
        {
            "device": "mlx5_0",
            "state": "DOWN",
            "link_layer": "InfiniBand",
            "lid": 65535,
            "subnet_manager_seen": False,
        },
    ),
    ("devinfo-007", (), "unknown", "no_port_section", {"device": "mlx5_1", "state": "unknown"}),
    (
        "ibstat-001",
        ("rate=200Gbit/s",),
        "fail",
        "logical_down_physical_up",
        {
            "device": "mlx5_7",
            "state": "DOWN",
            "physical_state": "LinkUp",
            "rate_bytes_per_second": 200 * GIGABIT,
            "lid": 65535,
            "virtual_function_likely": True,
        },
    ),
    (
        "ibstat-004",
        (),
        "pass",
        "",
        {
            "device": "efa_0",
            "state": "ACTIVE",
            "rate_bytes_per_second": 100 * GIGABIT,
            "link_layer": "Unknown",
            "provider": "efa",
            "empty_fields": ["CA type", "Firmware version", "Hardware version"],
        },
    ),
    (
        "ibstat-007",
        (),
        "unknown",
        "truncated",
        {
            "links": 2,
            "active_devices": ["mlx5_bond_0", "mlx5_bond_2"],
            "ethernet_devices": ["mlx5_bond_0", "mlx5_bond_2"],
            "truncated_devices": ["mlx5_bond_3"],
            "terminal_noise": True,
        },
    ),
    ("rdma_link-001", (), "fail", "port_down", {"links": 6, "active": 4, "down": 2, "truncated": False}),
    (
        "rdma_link-005",
        (),
        "fail",
        "port_down",
        {
            "links": 3,
            "active_devices": ["mlx5_0", "mlx5_3"],
            "down_devices": ["mlx5_2"],
            "infiniband_devices": ["mlx5_0", "mlx5_3"],
            "ethernet_devices": ["mlx5_2"],
            "truncated": True,
        },
    ),
]


def judged(name: str, *requirements: str) -> dict[str, Any]:
    case = json.loads((CASES / f"{name}.json").read_text())
    answer = judge(KINDS[case["area"]], case["input"], requirements).as_json()
    return json.loads(json.dumps(answer))  # type: ignore[no-any-return]


@pytest.mark.parametrize(("name", "requirements", "status", "reason", "values"), EXPECTED)
def test_the_case_is_decided_as_its_text_deserves(
    name: str, requirements: tuple[str, ...], status: str, reason: str, values: dict[str, Any]
) -> None:
    answer = judged(name, *requirements)
    assert (answer["status"], answer["reason"]) == (status, reason)
    assert {key: answer["values"][key] for key in values} == values


def test_every_handed_case_is_decided() -> None:
    assert {path.stem for path in CASES.glob("*.json")} == {name for name, *_ in EXPECTED}


def test_a_device_of_several_is_found_by_its_name() -> None:
    devices = judged("rdma_link-001")["values"]["devices"]
    assert devices["mlx5_3"]["netdev"] == "eno15np0"
    assert {name: one["lid"] for name, one in judged("rdma_link-005")["values"]["devices"].items()} == {
        "mlx5_0": 23,
        "mlx5_2": None,
        "mlx5_3": 25,
    }


def test_an_unsteady_row_shows_its_peak_over_average() -> None:
    row = judged("perftest-024")["rows"][-1]
    assert (row["message_bytes"], row["peak_over_average"]) == (256, 1.557)


def test_a_bond_warns_that_its_rate_is_one_members() -> None:
    assert judged("ibstat-007")["warnings"] == [
        "screen counters such as [0/1989] were left out",
        "mlx5_bond_0/1: the rate printed for a bond is that of one member",
        "mlx5_bond_2/1: the rate printed for a bond is that of one member",
        "mlx5_bond_3/1: the rate printed for a bond is that of one member",
    ]
