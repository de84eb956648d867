"""placement.acs: traffic between GPU and HCA goes through the switch, or up, as agreed."""

from collections.abc import Callable
from pathlib import Path

import pytest

from probes import HcaClass, Sample, Status
from probes.placement.acs import Probe, ports_between
from tests.probes.judging import judge
from tests.probes.readers.test_acs import config

ONE = HcaClass("compute", devices=("mlx5_0",))
SWITCH = "sys/devices/pci0000:10/0000:10:01.0/0000:11:00.0"
GPU_PORT, HCA_PORT = f"{SWITCH}/0000:12:00.0", f"{SWITCH}/0000:12:02.0"
HCA = f"{HCA_PORT}/0000:15:00.0"
ACS, ATS = 0x000D, 0x000F
REDIRECT, DIRECT = 0x001D, 0x0040


def privileged(root: Path, *, gpu_port: int = 0, hca_port: int = 0, ats: int = 0) -> Path:
    """The machine as root sees the configuration space of GPU 0, HCA 0 and the ports above them."""
    for folder, capability, control in ((GPU_PORT, ACS, gpu_port), (HCA_PORT, ACS, hca_port), (HCA, ATS, ats)):
        (root / folder / "config").write_bytes(config((0x0001, 0), (capability, control)))
    return root


async def first(root: Path, probe: Probe) -> tuple[Status, str, str]:
    finding = (await judge(root, probe))[0]
    return finding.status, finding.reason, finding.summary


async def test_no_redirection_passes_on_bare_metal(recorded: Callable[..., Path]) -> None:
    (finding, *_) = await judge(privileged(recorded("h100x8"), gpu_port=0x0001), Probe(ONE, "off"))
    assert (finding.status, finding.summary) == (Status.PASS, "0000:13:00.0: 2 ports to mlx5_0, redirect off")
    assert finding.samples == (Sample("acs_redirecting_ports", 0.0),)
    assert finding.evidence[0].text == "0000:12:00.0: ACS control 0x0001\n0000:12:02.0: ACS control 0x0000"


async def test_redirection_fails_on_bare_metal(recorded: Callable[..., Path]) -> None:
    assert await first(privileged(recorded("h100x8"), hca_port=REDIRECT), Probe(ONE, "off")) == (
        Status.FAIL,
        "acs_redirect",
        "0000:13:00.0: redirect on at 0000:12:02.0 found, off wanted",
    )


@pytest.mark.parametrize(
    ("gpu_port", "hca_port", "ats", "reason"),
    [
        (REDIRECT | DIRECT, REDIRECT | DIRECT, 0x8000, ""),
        (REDIRECT | DIRECT, REDIRECT | DIRECT, 0, "ats_off"),
        (REDIRECT | DIRECT, REDIRECT, 0x8000, "ats_off"),
        (DIRECT, REDIRECT | DIRECT, 0x8000, "acs_off"),
    ],
)
async def test_a_virtualised_design_wants_redirection_and_translation(
    gpu_port: int, hca_port: int, ats: int, reason: str, recorded: Callable[..., Path]
) -> None:
    root = privileged(recorded("h100x8"), gpu_port=gpu_port, hca_port=hca_port, ats=ats)
    assert (await first(root, Probe(ONE, "on")))[:2] == (Status.FAIL if reason else Status.PASS, reason)


async def test_without_privileges_nothing_is_visible(recorded: Callable[..., Path]) -> None:
    root = privileged(recorded("h100x8"))
    (root / HCA_PORT / "config").write_bytes(config((ACS, REDIRECT))[:64])
    assert await first(root, Probe(ONE, "off")) == (
        Status.UNKNOWN,
        "acs_not_visible",
        "0000:13:00.0: configuration space of 0000:12:02.0 not visible found, root's view of it wanted",
    )


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("phb", (Status.PASS, "")),
        ("flat", (Status.UNKNOWN, "virtual_machine")),
        ("data_direct", (Status.UNKNOWN, "data_direct_unpaired")),
    ],
)
async def test_without_a_switch_in_common_it_depends_on_what_is_known(
    name: str, found: tuple[Status, str], recorded: Callable[..., Path]
) -> None:
    assert (await first(recorded(name), Probe(ONE, "off")))[:2] == found


async def test_machines_without_gpus_and_other_words_cannot_be_told(recorded: Callable[..., Path]) -> None:
    root = recorded("rxe")
    assert [(await first(root, Probe(ONE, word)))[1] for word in ("off", "False")] == [
        "no_gpu_visible",
        "unknown_redirect",
    ]


def test_the_ports_between_are_below_the_switch_in_common() -> None:
    up = ("pci0000:10", "port", "up")
    assert ports_between((*up, "down-1", "gpu"), (*up, "down-2", "up-2", "down-3", "hca")) == [
        "down-1",
        "down-2",
        "up-2",
        "down-3",
    ]
