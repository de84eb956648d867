"""placement.gpudirect_path: a root complex in common."""

from collections.abc import Callable
from pathlib import Path

import pytest

from probes import HcaClass, Sample, Status
from probes.placement.gpudirect_path import Probe
from tests.probes.judging import judge

ALL = HcaClass("compute", driver="mlx5_core")


async def test_a_switch_in_common_is_best(recorded: Callable[..., Path]) -> None:
    findings = await judge(recorded("h100x8"), Probe(ALL))
    assert [finding.status for finding in findings] == [Status.PASS] * 8
    assert (findings[0].summary, findings[0].samples) == (
        "0000:13:00.0: mlx5_0 behind a switch in common (PIX)",
        (Sample("gpudirect_path", 1.0, {"shared": "switch"}),),
    )


async def test_a_host_bridge_in_common_passes_and_another_one_fails(recorded: Callable[..., Path]) -> None:
    findings = await judge(recorded("phb"), Probe(ALL))
    assert [(finding.status, finding.reason, finding.summary) for finding in findings] == [
        (Status.PASS, "", "0000:01:00.0: mlx5_0 through the host bridge, slower than a switch (PHB)"),
        (
            Status.FAIL,
            "no_shared_root_complex",
            "0000:81:00.0: nearest mlx5_0 at NODE found, a planned HCA below the same host bridge wanted",
        ),
    ]
    assert [finding.samples[0].labels["shared"] for finding in findings] == ["host_bridge", "none"]


@pytest.mark.parametrize(("name", "reason"), [("flat", "flat_topology"), ("data_direct", "data_direct_unpaired")])
async def test_what_cannot_be_told_is_unknown_without_a_sample(
    name: str, reason: str, recorded: Callable[..., Path]
) -> None:
    findings = await judge(recorded(name), Probe(ALL))
    assert {(finding.status, finding.reason, finding.samples) for finding in findings} == {(Status.UNKNOWN, reason, ())}


async def test_without_a_planned_hca_there_is_no_path(recorded: Callable[..., Path]) -> None:
    findings = await judge(recorded("phb"), Probe(HcaClass("compute", devices=("mlx5_9",))))
    assert {(finding.status, finding.reason) for finding in findings} == {(Status.FAIL, "no_shared_root_complex")}


async def test_a_machine_without_gpus_cannot_be_told(recorded: Callable[..., Path]) -> None:
    findings = await judge(recorded("rxe"), Probe(HcaClass("lab", devices=("rxe0",))))
    assert [(finding.status, finding.reason) for finding in findings] == [(Status.UNKNOWN, "no_gpu_visible")]
