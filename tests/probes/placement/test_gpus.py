"""placement.gpus: what is on PCI Express is what the driver knows."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from probes import Finding, Sample, Status, Subject
from probes._endpoint import Ended
from probes._host import Completed
from probes.placement.gpus import Probe
from tests.probes.placement.gpu_host import judge_with, nvml, refused, row


def rows(hosts: Any, **more: Any) -> list[dict[str, Any]]:
    return [row(hosts.gpu_address(i), i, **more) for i in range(8)]


def said(findings: list[Finding]) -> list[tuple[Status, str, str]]:
    return [(finding.status, finding.reason, finding.summary) for finding in findings]


async def test_each_gpu_that_nvml_knows_passes_with_its_identity(recorded: Callable[..., Path], hosts: Any) -> None:
    known = rows(
        hosts, driver_version="570.133.20", cuda_version=12080, nvlinks=18, nvlinks_up=18, processes=2, mig=False
    )
    findings = await judge_with(recorded("h100x8"), Probe(gpus=8, nvlinks=18), {"gpu_nvml": nvml(*known)})
    assert [(one.subject, one.status) for one in findings] == [
        (Subject(resource=hosts.gpu_address(i)), Status.PASS) for i in range(8)
    ]
    labels = {
        "gpu_uuid": "GPU-11111111-2222-3333-4444-555555555501",
        "pci_address": "0000:13:00.0",
        "index": "0",
        "model": "NVIDIA H100",
        "driver_version": "570.133.20",
        "cuda_driver_version": "12.8",
        "mig": "false",
    }
    assert findings[0].samples == (
        Sample("gpu_info", 1.0, labels),
        Sample("gpu_nvlinks_up", 18.0),
        Sample("gpu_processes", 2.0),
    )
    assert findings[0].facts == labels | {
        "numa_node": "0",
        "pcie": "xnot told of xnot told, generation not told of not told",
        "nvlinks": "18 of 18 up",
        "utilisation": "not told",
        "memory_used_bytes": "not told",
        "processes": "2",
    }


async def test_without_nvml_the_drivers_files_are_enough_and_why_is_said(recorded: Callable[..., Path]) -> None:
    findings = await judge_with(recorded("flat"), Probe(), {"gpu_nvml": refused("denied")})
    assert said(findings)[0] == (
        Status.PASS,
        "",
        "0000:00:06.0: NVIDIA H200 GPU-11111111-2222-3333-4444-555555555501 by proc; "
        "no permission found, permission wanted",
    )
    assert findings[0].samples[0].labels["gpu_uuid"] == "GPU-11111111-2222-3333-4444-555555555501"


async def test_a_driver_that_cannot_be_asked_at_all_is_unknown(recorded: Callable[..., Path]) -> None:
    bare = recorded("flat", {"/proc/driver": None})
    hung = Completed(("gpu_nvml.py",), Ended.DEADLINE, -9, "", "", 15.0)
    assert said(await judge_with(bare, Probe(), {"gpu_nvml": hung})) == [
        (
            Status.UNKNOWN,
            "gpu_driver_hung",
            f"{address}: no answer of the driver within 15 s found, one wanted",
        )
        for address in ("0000:00:06.0", "0000:00:07.0")
    ]


async def test_a_gpu_that_its_driver_lost_fails_twice(recorded: Callable[..., Path], hosts: Any) -> None:
    lost = "GPU 3: GPU is lost found, an answer wanted"
    known = [one for one in rows(hosts) if one["index"] != 3]
    findings = await judge_with(recorded("h100x8"), Probe(), {"gpu_nvml": nvml(*known, lost=[lost])})
    assert [one for one in said(findings) if one[0] is not Status.PASS] == [
        (Status.FAIL, "gpu_lost", f"gpu: {lost}"),
        (Status.FAIL, "gpu_without_driver", "0000:34:00.0: no such GPU by its driver found, one wanted"),
    ]


async def test_what_the_drivers_files_lack_has_no_driver_on_a_machine(recorded: Callable[..., Path]) -> None:
    one = recorded("flat", {"/proc/driver/nvidia/gpus/0000:00:07.0": None})
    findings = await judge_with(one, Probe(), {"gpu_nvml": refused("import")})
    assert [(finding.status, finding.reason) for finding in findings] == [
        (Status.PASS, ""),
        (Status.FAIL, "gpu_without_driver"),
    ]


async def test_a_container_is_not_shown_the_gpus_of_others(recorded: Callable[..., Path], hosts: Any) -> None:
    root = recorded("h100x8", {"/run/.containerenv": ""})
    findings = await judge_with(root, Probe(), {"gpu_nvml": nvml(row(hosts.gpu_address(0), 0))})
    assert [one[:2] for one in said(findings)] == [(Status.PASS, ""), *[(Status.UNKNOWN, "gpu_not_given")] * 7]


async def test_fewer_gpus_or_links_than_planned_fail(recorded: Callable[..., Path], hosts: Any) -> None:
    known = rows(hosts, nvlinks=18, nvlinks_up=18)
    known[2] |= {"nvlinks_up": 17}
    known[5] |= {"nvlinks": None, "nvlinks_up": None}
    findings = await judge_with(recorded("h100x8"), Probe(gpus=9, nvlinks=18), {"gpu_nvml": nvml(*known)})
    assert [one for one in said(findings) if one[0] is not Status.PASS] == [
        (Status.FAIL, "gpu_missing", "gpu: 8 found, 9 wanted"),
        (Status.FAIL, "nvlinks_down", "0000:33:00.0: 17 of 18 NVLinks up found, 18 wanted"),
        (Status.UNKNOWN, "nvlinks_not_told", "0000:94:00.0: no number of NVLinks found, 18 up wanted"),
    ]


async def test_two_gpus_with_one_uuid_fail(recorded: Callable[..., Path], hosts: Any) -> None:
    known = rows(hosts)
    known[7]["uuid"] = known[6]["uuid"]
    findings = await judge_with(recorded("h100x8"), Probe(), {"gpu_nvml": nvml(*known)})
    assert [one[1] for one in said(findings)] == [""] * 6 + ["gpu_duplicate"] * 2


async def test_a_machine_without_gpus_cannot_be_told(recorded: Callable[..., Path]) -> None:
    assert said(await judge_with(recorded("rxe"), Probe(), {})) == [
        (Status.UNKNOWN, "no_gpu_visible", "gpu: none found, 1 wanted")
    ]
