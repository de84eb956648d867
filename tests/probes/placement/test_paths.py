"""placement.paths: GPUs and HCAs near enough on PCI Express."""

from collections.abc import Callable
from pathlib import Path

import pytest

from probes import HcaClass, Sample, Status, Subject
from probes.placement.paths import Probe
from tests.probes.judging import judge

ALL = HcaClass("compute", count=8)


async def answer(root: Path, probe: Probe) -> list[tuple[Status, str, str]]:
    return [(finding.status, finding.reason, finding.summary) for finding in await judge(root, probe)]


def flat(root: Path, *places: tuple[str, str, str]) -> Path:
    """A virtual machine: functions of (address, class, vendor) on its root bus; an HCA has its RDMA device."""
    for address, pci_class, vendor in places:
        device = root / "sys/devices/pci0000:00" / address
        (device / "numa_node").parent.mkdir(parents=True)
        for name, text in (("class", pci_class), ("vendor", vendor), ("numa_node", "-1")):
            (device / name).write_text(text)
        link = root / "sys/bus/pci/devices" / address
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(f"../../../devices/pci0000:00/{address}")
        if vendor == "0x15b3":
            (device / "infiniband/mlx5_0/ports/1").mkdir(parents=True)
            (device / "infiniband/mlx5_0/device").symlink_to(f"../../../{address}")
            (root / "sys/class/infiniband").mkdir(parents=True)
            (root / "sys/class/infiniband/mlx5_0").symlink_to(f"../../devices/pci0000:00/{address}/infiniband/mlx5_0")
    return root


GPU, HCA = ("0000:00:06.0", "0x030200", "0x10de"), ("0000:00:07.0", "0x020000", "0x15b3")


async def test_every_gpu_of_a_good_node_has_an_hca_behind_its_switch(recorded: Callable[..., Path], hosts) -> None:
    findings = await judge(recorded("h100x8"), Probe(ALL, gpus=8))
    assert [(finding.subject, finding.status, finding.summary) for finding in findings] == [
        (
            Subject(resource=hosts.gpu_address(i)),
            Status.PASS,
            f"{hosts.gpu_address(i)}: planned HCA mlx5_{i // 2 * 2} at PIX",
        )
        for i in range(8)
    ]
    assert findings[0].samples == (Sample("placement_distance", 1.0),)
    assert findings[0].facts == {"nearest": "mlx5_0", "distance": "PIX"}


async def test_a_gpu_whose_hcas_are_not_planned_is_too_far(recorded: Callable[..., Path]) -> None:
    hcas = HcaClass("compute", devices=tuple(f"mlx5_{i}" for i in range(2, 8)))
    findings = await judge(recorded("h100x8"), Probe(hcas))
    assert [finding.status for finding in findings] == [Status.FAIL] * 2 + [Status.PASS] * 6
    assert (findings[0].reason, findings[0].summary, findings[0].samples) == (
        "too_far",
        "0000:13:00.0: nearest mlx5_2 at NODE found, planned HCA within PXB wanted",
        (Sample("placement_distance", 4.0),),
    )


async def test_a_wider_distance_is_enough(recorded: Callable[..., Path]) -> None:
    hcas = HcaClass("compute", devices=("mlx5_2",))
    findings = await judge(recorded("h100x8"), Probe(hcas, within="NODE"))
    assert [finding.status for finding in findings] == [Status.PASS] * 4 + [Status.FAIL] * 4


async def test_each_hca_wants_a_gpu(recorded: Callable[..., Path]) -> None:
    probe = Probe(HcaClass("compute", devices=("mlx5_6", "mlx5_9")), rule="each_nic_has_gpu", within="PIX")
    assert await answer(recorded("h100x8"), probe) == [
        (Status.FAIL, "device_missing", "mlx5_9: no such RDMA device found, one wanted"),
        (Status.PASS, "", "mlx5_6: GPU 0000:b3:00.0 at PIX"),
    ]


async def test_exact_pairs_are_judged_one_by_one(recorded: Callable[..., Path]) -> None:
    pairs = ("0000:13:00.0=mlx5_0", "0000:13:00.0 = 0000:35:00.0", "0000:ff:00.0=mlx5_0", "0000:13:00.0=mlx5_9")
    assert await answer(recorded("h100x8"), Probe(ALL, rule="exact_pairs", pairs=pairs)) == [
        (Status.PASS, "", "mlx5_0 0000:13:00.0: GPU 0000:13:00.0 at PIX"),
        (
            Status.FAIL,
            "too_far",
            "0000:35:00.0 0000:13:00.0: nearest 0000:13:00.0 at NODE found, GPU within PXB wanted",
        ),
        (Status.FAIL, "gpu_missing", "mlx5_0 0000:ff:00.0: no such GPU found, one wanted"),
        (Status.FAIL, "device_missing", "mlx5_9 0000:13:00.0: no such planned HCA found, one wanted"),
    ]


async def test_fewer_gpus_than_planned_fail(recorded: Callable[..., Path]) -> None:
    assert (await answer(recorded("h100x8"), Probe(ALL, gpus=9)))[0] == (
        Status.FAIL,
        "gpu_missing",
        "gpu: 8 found, 9 wanted",
    )


async def test_a_machine_without_gpus_cannot_be_told(recorded: Callable[..., Path]) -> None:
    assert await answer(recorded("rxe"), Probe(HcaClass("lab", devices=("rxe0",)))) == [
        (Status.UNKNOWN, "no_gpu_visible", "gpu: none found, 1 wanted")
    ]


async def test_a_software_device_has_no_place(recorded: Callable[..., Path], tmp_path: Path) -> None:
    root = flat(recorded("rxe"), GPU)
    lab = HcaClass("lab", devices=("rxe0",))
    assert (await answer(root, Probe(lab)))[0][:2] == (Status.UNKNOWN, "no_pci_path")
    assert await answer(root, Probe(lab, rule="each_nic_has_gpu")) == [
        (Status.UNKNOWN, "no_pci_path", "rxe0: no PCI path found, GPU within PXB wanted")
    ]


@pytest.mark.parametrize("within", ["PXB", "PHB", "NODE"])
async def test_a_virtual_machines_root_bus_tells_nothing(within: str, tmp_path: Path) -> None:
    assert await answer(flat(tmp_path, GPU, HCA), Probe(HcaClass("compute", count=1), within=within)) == [
        (
            Status.UNKNOWN,
            "flat_topology",
            f"0000:00:06.0: devices on a root bus found, planned HCA within {within} wanted",
        )
    ]


async def test_any_distance_will_do_on_a_virtual_machine_too(tmp_path: Path) -> None:
    findings = await answer(flat(tmp_path, GPU, HCA), Probe(HcaClass("compute", count=1), within="SYS"))
    assert findings == [(Status.PASS, "", "0000:00:06.0: planned HCA mlx5_0 at PHB")]


async def test_unknown_numa_nodes_cannot_be_told(recorded: Callable[..., Path], hosts) -> None:
    machine = hosts.h100x8()
    unknown = {path: "-1" for path in machine.texts if path.endswith("/numa_node")}
    hcas = HcaClass("compute", devices=("mlx5_2",))
    findings = await answer(recorded("h100x8", unknown), Probe(hcas, within="NODE"))
    assert findings[0] == (
        Status.UNKNOWN,
        "numa_unknown",
        "0000:13:00.0: NUMA node -1 found, planned HCA within NODE wanted",
    )


@pytest.mark.parametrize(
    "probe", [Probe(ALL, rule="nearest"), Probe(ALL, within="PIB"), Probe(ALL, rule="exact_pairs")]
)
async def test_a_rule_that_does_not_exist_cannot_be_told(probe: Probe, tmp_path: Path) -> None:
    assert [(finding.status, finding.reason) for finding in await judge(tmp_path, probe)] == [
        (Status.UNKNOWN, "unknown_rule")
    ]
