"""rdma-gate judge topo: a NIC near enough for each GPU, by what the text shows."""

import json
from pathlib import Path
from typing import Any

import pytest

from exporter.judge import judge

GPU = Path(__file__).parents[1] / "fixtures" / "gpu"
EXPECTED: list[tuple[str, str, dict[str, Any]]] = [
    (
        "topo-001",
        "truncated",
        {
            "gpus_complete": 7,
            "nics": 9,
            "local_nic": {
                "GPU0": "NIC2",
                "GPU1": "NIC4",
                "GPU2": "NIC6",
                "GPU3": "NIC8",
                "GPU4": "NIC1",
                "GPU5": "NIC3",
                "GPU6": "NIC5",
                "GPU7": "unknown",
            },
            "numa": {f"GPU{i}": i // 4 for i in range(7)},
            "truncated": True,
        },
    ),
    (
        "topo-004",
        "truncated",
        {
            "nics": 8,
            "gpus_without_complete_row": ["GPU2", "GPU6", "GPU7"],
            "closeness": "PXB",
            "gdr_friendly": True,
            "nvlink": "NV18",
            "local_nic": {f"GPU{i}": "unknown" if i in (2, 6, 7) else f"NIC{i}" for i in range(8)},
        },
    ),
    (
        "topo-010",
        "no_matrix",
        {
            "nic_legend": {f"NIC{i}": f"mlx5_{i}" for i in range(5)},
            "matrix_present": False,
            "next_section": "ibstatus",
            "closeness": None,
        },
    ),
]
HEADER = "        GPU0    GPU1    NIC0    NIC1    CPU Affinity    NUMA Affinity\n"
GPUS = """GPU0     X      SYS     PXB     SYS     0-31    0
GPU1    SYS      X      SYS     PIX     32-63   1
"""
NICS = """NIC0    PXB     SYS      X      SYS
NIC1    SYS     PIX     SYS      X
"""
LEGEND = "\nNIC Legend:\n\n  NIC0: mlx5_bond_0\n  NIC1: mlx5_1\n"
WHOLE = HEADER + GPUS + NICS + LEGEND


def judged(text: str, *requirements: str) -> dict[str, Any]:
    return json.loads(json.dumps(judge("topo", text, requirements).as_json()))  # type: ignore[no-any-return]


def said(text: str, *requirements: str) -> tuple[str, str, str]:
    answer = judged(text, *requirements)
    return answer["status"], answer["reason"], answer["summary"]


@pytest.mark.parametrize(("name", "reason", "values"), EXPECTED)
def test_the_case_is_decided_as_its_text_deserves(name: str, reason: str, values: dict[str, Any]) -> None:
    answer = judged(json.loads((GPU / "topo" / f"{name}.json").read_text())["input"])
    assert (answer["status"], answer["reason"]) == ("unknown", reason)
    assert {key: answer["values"][key] for key in values} == values


def test_every_handed_case_is_decided() -> None:
    assert {path.stem for path in (GPU / "topo").glob("*.json")} == {name for name, *_ in EXPECTED}


def test_a_nic_without_a_host_bridge_for_each_gpu_passes() -> None:
    answer = judged(WHOLE)
    assert said(WHOLE) == ("pass", "", "topo: all 2 GPU(s) have a NIC within PXB")
    assert answer["warnings"] == ["mlx5_bond_0: a bond stands where its first member is"]
    assert answer["rows"][0] == {
        "name": "GPU0",
        "device": None,
        "complete": True,
        "cells": {"GPU0": "X", "GPU1": "SYS", "NIC0": "PXB", "NIC1": "SYS"},
        "cpu_affinity": "0-31",
        "numa_affinity": "0",
        "gpu_numa_id": None,
    }
    assert answer["values"]["local_device"] == {"GPU0": "mlx5_bond_0", "GPU1": "mlx5_1"}
    assert (answer["values"]["closeness"], answer["values"]["closeness_of_gpus"]) == (
        "PXB",
        {"GPU0": "PXB", "GPU1": "PIX"},
    )


def test_a_target_may_ask_for_less_or_more() -> None:
    assert said(WHOLE, "within=PIX") == (
        "fail",
        "too_far",
        "GPU0: nearest NIC0 (mlx5_bond_0) at PXB found, a NIC within PIX wanted",
    )
    far = WHOLE.replace("PXB", "PHB")
    assert [said(far)[:2], said(far, "within=phb")[0]] == [("fail", "too_far"), "pass"]
    with pytest.raises(ValueError, match="'near' found, one of PIX, PXB, PHB, NODE, SYS wanted"):
        judge("topo", WHOLE, ["within=near"])


def test_a_gpu_that_is_too_far_fails_though_the_text_is_cut() -> None:
    text = HEADER + GPUS.splitlines()[0].replace("PXB", "SYS") + "\nGPU1    SYS"
    assert said(text) == ("fail", "too_far", "GPU0: nearest NIC0 at SYS found, a NIC within PXB wanted")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (HEADER + GPUS[:-20], "truncated"),
        (HEADER + GPUS + "...\n" + LEGEND, "truncated"),
        (GPUS, "no_header"),
        (WHOLE.replace("NIC0    NIC1    CPU", "NIC0    CPU"), "no_header"),
        (WHOLE.replace("NIC0    PXB", "NIC0    PIX"), "inconsistent"),
        (WHOLE.replace("32-63   1", "32-63   0"), "inconsistent"),
        (WHOLE.replace("PXB", "PHB").replace("PIX", "PHB").replace("SYS", "PHB"), "flat_topology"),
        (WHOLE.replace("PXB", "SYS").replace("0-31    0", "N/A    N/A"), "numa_unknown"),
        (WHOLE + WHOLE.replace("PXB", "PIX"), "mixed_results"),
        ((GPU / "topo.out").read_text(), "no_nic_columns"),
        ((GPU / "topo-p2p.out").read_text(), "other_matrix"),
        ("ROCm System Management Interface\n", "other_tool"),
        ("Failed to initialize NVML: Driver/library version mismatch\n", "gpu_driver_not_loaded"),
        ("", "unparsable"),
    ],
)
def test_what_cannot_be_told_is_unknown_with_its_reason(text: str, reason: str) -> None:
    assert said(text)[:2] == ("unknown", reason)


def test_the_same_matrix_twice_is_one() -> None:
    assert said(WHOLE + "\n" + WHOLE)[0] == "pass"


def test_a_nic_whose_column_has_no_name_may_be_the_local_one() -> None:
    values = judged(WHOLE.replace("NIC0    NIC1    CPU", "NIC0    CPU"))["values"]
    assert (values["nics"], values["local_nic"]) == (2, {"GPU0": "NIC0", "GPU1": "unknown"})


def test_without_a_legend_the_devices_are_not_known() -> None:
    answer = judged(HEADER + GPUS)
    assert (answer["status"], answer["warnings"], answer["values"]["local_device"]) == (
        "pass",
        ["NIC0, NIC1: not in a NIC legend, so the device behind is not known"],
        {"GPU0": None, "GPU1": None},
    )
