"""placement.topo_matrix: nvidia-smi laid beside sysfs."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from probes import Finding, HcaClass, Status
from probes._endpoint import Ended
from probes._host import Completed
from probes.placement.topo_matrix import Probe
from tests.probes.placement.gpu_host import done, judge_with, nvml, refused, row

ALL = HcaClass("compute", driver="mlx5_core")
ARGV = ("nvidia-smi", "topo", "-m")
TOPO = (Path(__file__).parents[2] / "fixtures" / "gpu" / "topo.out").read_text()


def matrix(cells: Mapping[int, str], hcas: int, *, legend: Callable[[int], str] = "mlx5_{}".format) -> str:
    """A matrix of the GPUs by index, with the cells to each HCA in a row."""
    head = "".join(f"\tGPU{index}" for index in cells) + "".join(f"\tNIC{nic}" for nic in range(hcas))
    lines = [f"{head}\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID"]
    for index, words in cells.items():
        others = "\t".join("X" if other == index else "NV18" for other in cells)
        lines.append(f"GPU{index}\t{others}\t{words}\t0-55\t0\t\tN/A")
    return "\n".join([*lines, "", "NIC Legend:", "", *(f"  NIC{nic}: {legend(nic)}" for nic in range(hcas)), ""])


def good(changes: Mapping[int, str] | None = None, **more: Any) -> str:
    """As the node of eight GPUs and eight HCAs really is: two and two behind each of four switches."""
    near = {"same": "PIX", "node": "NODE", "far": "SYS"}
    cells = {
        gpu: "\t".join(
            near["same"] if nic // 2 == gpu // 2 else near["node"] if nic // 4 == gpu // 4 else near["far"]
            for nic in range(8)
        )
        for gpu in range(8)
    }
    return matrix(cells | dict(changes or {}), 8, **more)


def known(hosts: Any) -> Completed:
    return nvml(*(row(hosts.gpu_address(i), i) for i in range(8)))


def said(findings: list[Finding]) -> list[tuple[Status, str, str]]:
    return [(one.status, one.reason, one.summary) for one in findings]


async def test_a_matrix_that_agrees_passes_for_each_gpu(recorded: Callable[..., Path], hosts: Any) -> None:
    answers = {"nvidia-smi": done(ARGV, good()), "gpu_nvml": known(hosts)}
    findings = await judge_with(recorded("h100x8"), Probe(ALL, 8), answers)
    assert said(findings) == [
        (Status.PASS, "", f"{hosts.gpu_address(i)}: GPU{i} at the same distances by nvidia-smi and sysfs")
        for i in range(8)
    ]
    assert findings[0].evidence[0].argv == ARGV


async def test_a_difference_is_unknown_and_says_who_is_believed(recorded: Callable[..., Path], hosts: Any) -> None:
    moved = good({0: "PHB\tPIX\tNODE\tNODE\tSYS\tSYS\tSYS\tSYS"})
    answers = {"nvidia-smi": done(ARGV, moved), "gpu_nvml": known(hosts)}
    findings = await judge_with(recorded("h100x8"), Probe(ALL, 8), answers)
    assert said(findings)[0] == (
        Status.UNKNOWN,
        "topology_differs",
        "0000:13:00.0: mlx5_0 at PHB by nvidia-smi, PIX by sysfs found, the same wanted; "
        "sysfs is believed, which shows the bridges themselves",
    )
    assert [finding.status for finding in findings[1:]] == [Status.PASS] * 7


async def test_sys_for_node_differs_where_numa_nodes_are_told(recorded: Callable[..., Path], hosts: Any) -> None:
    moved = good({0: "PIX\tPIX\tSYS\tNODE\tSYS\tSYS\tSYS\tSYS"})
    answers = {"nvidia-smi": done(ARGV, moved), "gpu_nvml": known(hosts)}
    findings = await judge_with(recorded("h100x8"), Probe(ALL, 8), answers)
    assert [finding.reason for finding in findings] == ["topology_differs"] + [""] * 7


async def test_gpus_are_known_by_the_index_that_nvml_gives(recorded: Callable[..., Path], hosts: Any) -> None:
    backwards = nvml(*(row(hosts.gpu_address(7 - i), i) for i in range(8)))
    answers = {"nvidia-smi": done(ARGV, good()), "gpu_nvml": backwards}
    findings = await judge_with(recorded("h100x8"), Probe(ALL, 8), answers)
    assert {finding.reason for finding in findings} == {"topology_differs"}


async def test_an_untold_numa_node_explains_sys(recorded: Callable[..., Path]) -> None:
    cells = {0: "PHB", 1: "SYS"}
    gpus = nvml(row("0000:01:00.0", 0), row("0000:81:00.0", 1))
    answers = {"nvidia-smi": done(ARGV, matrix(cells, 1)), "gpu_nvml": gpus}
    assert said(await judge_with(recorded("phb"), Probe(ALL, 2), answers)) == [
        (Status.PASS, "", "0000:01:00.0: GPU0 at the same distances by nvidia-smi and sysfs"),
        (
            Status.PASS,
            "",
            "0000:81:00.0: GPU1 at the same distances by nvidia-smi and sysfs; "
            "mlx5_0 at SYS by nvidia-smi, NODE by sysfs (a NUMA node is -1; sysfs believed)",
        ),
    ]


@pytest.mark.parametrize(
    ("completed", "status", "reason"),
    [
        (Completed(ARGV, Ended.NOT_STARTED, None, "", "nvidia-smi: none", 0.0), Status.UNKNOWN, "tool_missing"),
        (Completed(ARGV, Ended.DEADLINE, -9, "", "", 20.0), Status.UNKNOWN, "tool_hung"),
        (done(ARGV, "Failed to initialize NVML: Unknown Error\n", 255), Status.UNKNOWN, "tool_failed"),
        (done(ARGV, TOPO), Status.FAIL, "gpu_missing"),
        (done(ARGV, TOPO.replace("GPU1", "GPU7")), Status.FAIL, "gpu_missing"),
        (done(ARGV, good().replace("NIC", "GPU1")), Status.UNKNOWN, "no_nic_columns"),
    ],
)
async def test_without_a_usable_matrix_there_is_one_finding(
    completed: Completed, status: Status, reason: str, recorded: Callable[..., Path]
) -> None:
    findings = await judge_with(recorded("h100x8"), Probe(ALL, 8), {"nvidia-smi": completed})
    assert [(one.subject.resource, one.status, one.reason) for one in findings] == [("topo_matrix", status, reason)]


async def test_a_hca_without_a_column_a_cut_row_and_an_unknown_index_are_told(
    recorded: Callable[..., Path], hosts: Any
) -> None:
    text = good(legend=lambda nic: "mlx5_bond_0" if nic == 7 else f"mlx5_{nic}")
    cut = text.replace("GPU7\tNV18", "GPU7\tNV18\nNone\t", 1)
    gpus = nvml(*(row(hosts.gpu_address(i), i) for i in range(8) if i != 2))
    findings = await judge_with(recorded("h100x8"), Probe(ALL, 8), {"nvidia-smi": done(ARGV, cut), "gpu_nvml": gpus})
    assert [finding.reason for finding in findings] == [
        "nic_not_shown",
        "nic_not_shown",
        "index_unknown",
        *["nic_not_shown"] * 4,
        "row_cut",
    ]
    nobody = {"nvidia-smi": done(ARGV, text), "gpu_nvml": refused("driver")}
    assert {one.reason for one in await judge_with(recorded("ib8"), Probe(ALL, 8), nobody)} == {"index_unknown"}
