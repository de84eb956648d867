"""placement.pcie: lanes always, speed under load."""

from collections.abc import Callable
from pathlib import Path

from probes import Finding, HcaClass, Sample, Status
from probes.placement.pcie import Probe
from tests.probes.placement.gpu_host import judge_with, nvml, row
from tests.probes.placement.gpu_host import refused as nvml_refused

ALL = HcaClass("compute", driver="mlx5_core")
GPU = "/sys/devices/pci0000:10/0000:10:01.0/0000:11:00.0/0000:12:00.0/0000:13:00.0"
HCA = "/sys/devices/pci0000:10/0000:10:01.0/0000:11:00.0/0000:12:02.0/0000:15:00.0"
SWITCH = "/sys/devices/pci0000:10/0000:10:01.0/0000:11:00.0"
IDLE = "2.5 GT/s PCIe"


def others(findings: list[Finding]) -> list[tuple[Status, str, str]]:
    """Those that did not simply pass."""
    return [(one.status, one.reason, one.summary) for one in findings if one.status is not Status.PASS]


async def test_full_links_pass_without_asking_a_driver(recorded: Callable[..., Path]) -> None:
    findings = await judge_with(recorded("h100x8"), Probe(ALL, hca_lanes=16, gpu_lanes=16), {})
    assert [finding.status for finding in findings] == [Status.PASS] * 16
    assert (findings[0].summary, findings[0].samples) == (
        "0000:13:00.0: x16 of x16 at 32 of 32 GT/s",
        (Sample("pcie_lanes", 16.0), Sample("pcie_lanes_best", 16.0)),
    )


async def test_lost_lanes_fail_wherever_on_the_way_they_are(recorded: Callable[..., Path]) -> None:
    hosts = recorded("h100x8", {f"{HCA}/current_link_width": "8", f"{SWITCH}/current_link_width": "4"})
    hcas = HcaClass("compute", devices=("mlx5_0",))
    assert others(await judge_with(hosts, Probe(hcas), {})) == [
        (Status.FAIL, "lanes_lost", "0000:13:00.0: x4 at 0000:11:00.0 found, x16 wanted"),
        (Status.FAIL, "lanes_lost", "0000:14:00.0: x4 at 0000:11:00.0 found, x16 wanted"),
        (
            Status.FAIL,
            "lanes_lost",
            "mlx5_0: x4 at 0000:11:00.0 found, x16 wanted; x8 at 0000:15:00.0 found, x16 wanted",
        ),
    ]


async def test_a_slot_of_fewer_lanes_is_a_fault_only_against_the_plan(recorded: Callable[..., Path]) -> None:
    slot = SWITCH + "/0000:12:02.0"
    narrow = {f"{slot}/max_link_width": "8", f"{slot}/current_link_width": "8", f"{HCA}/current_link_width": "8"}
    root = recorded("h100x8", narrow)
    assert others(await judge_with(root, Probe(ALL), {})) == []
    assert others(await judge_with(root, Probe(ALL, hca_lanes=16), {})) == [
        (Status.FAIL, "lanes_too_few", "mlx5_0: x8 found, x16 wanted")
    ]


async def test_a_slow_gpu_fails_only_while_it_works(recorded: Callable[..., Path]) -> None:
    root = recorded("h100x8", {f"{GPU}/current_link_speed": IDLE})
    working, idle = ({"gpu_nvml": nvml(row("0000:13:00.0", 0, utilisation_percent=one))} for one in (90, 0))
    assert others(await judge_with(root, Probe(ALL), working)) == [
        (Status.FAIL, "speed_low_under_load", "0000:13:00.0: 2.5 GT/s at 0000:13:00.0 found, 32 GT/s wanted")
    ]
    for answers in (idle, {"gpu_nvml": nvml_refused("driver")}):
        findings = await judge_with(root, Probe(ALL), answers)
        assert (others(findings), findings[0].summary) == ([], "0000:13:00.0: x16 of x16 at 2.5 of 32 GT/s")


async def test_a_slow_hca_was_seen_without_load(recorded: Callable[..., Path]) -> None:
    root = recorded("h100x8", {f"{HCA}/current_link_speed": "16.0 GT/s PCIe"})
    assert others(await judge_with(root, Probe(ALL), {})) == [
        (
            Status.UNKNOWN,
            "speed_low_idle",
            "mlx5_0: 16 GT/s at 0000:15:00.0 found, 32 GT/s wanted, seen without load",
        )
    ]


async def test_a_virtual_function_has_the_link_of_its_physical_one(recorded: Callable[..., Path]) -> None:
    physical = "/sys/devices/pci0000:10/0000:10:01.0/0000:11:00.0/0000:12:01.0/0000:14:00.0"
    findings = await judge_with(recorded("vf", {f"{physical}/current_link_width": "8"}), Probe(ALL), {})
    assert [finding.subject.device for finding in findings] == ["", "mlx5_1", "mlx5_2"]
    assert [one[1] for one in others(findings)] == ["lanes_lost", "lanes_lost"]


async def test_what_a_hypervisor_hides_is_unknown_and_what_is_absent_fails(recorded: Callable[..., Path]) -> None:
    device = "/sys/devices/pci0000:00/0000:00:08.0"
    hidden = {f"{device}/{name}": None for name in ("current_link_width", "max_link_width", "current_link_speed")}
    hcas = HcaClass("compute", devices=("mlx5_0", "mlx5_9"))
    assert others(await judge_with(recorded("flat", hidden), Probe(hcas), {})) == [
        (Status.UNKNOWN, "link_not_told", "mlx5_0: no lanes and speed of its link found, them wanted"),
        (Status.FAIL, "device_missing", "mlx5_9: no such RDMA device found, one wanted"),
    ]
