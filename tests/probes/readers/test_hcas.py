"""Each planned HCA has a row, the absent ones too."""

from collections.abc import Callable
from pathlib import Path

import pytest

from probes import HcaClass
from probes._host import Tree
from probes.readers.hcas import match_hcas, surplus_hcas
from probes.readers.sysfs import Device, read_devices


@pytest.fixture
def devices(recorded: Callable[..., Path]) -> tuple[Device, ...]:
    return read_devices(Tree(recorded("h100x8")))


def rows(hca_class: HcaClass, devices: tuple[Device, ...]) -> list[tuple[str, int, bool]]:
    return [(row.name, row.rail, row.device is not None) for row in match_hcas(hca_class, devices)]


def test_pci_addresses_are_matched_in_the_plans_order_however_they_are_written(devices) -> None:
    planned = HcaClass("compute", pci=("0000:16:00.0", "00000000:15:00.0", "B6:00.0", "0000:ff:00.0"))
    assert rows(planned, devices) == [
        ("mlx5_1", 0, True),
        ("mlx5_0", 1, True),
        ("mlx5_7", 2, True),
        ("0000:ff:00.0", 3, False),
    ]


def test_devices_are_matched_by_name(devices) -> None:
    planned = HcaClass("compute", devices=("mlx5_9", "mlx5_3"))
    assert rows(planned, devices) == [("mlx5_9", 0, False), ("mlx5_3", 1, True)]


def test_devices_are_matched_by_netdev(devices) -> None:
    planned = HcaClass("compute", netdevs=("enp2np0", "eth7"))
    assert rows(planned, devices) == [("mlx5_2", 0, True), ("eth7", 1, False)]


def test_a_planned_device_of_another_driver_is_still_that_device(devices) -> None:
    assert rows(HcaClass("compute", driver="bnxt_re", devices=("mlx5_3",)), devices) == [("mlx5_3", 0, True)]


def test_a_count_is_filled_up_with_absent_ones(devices) -> None:
    planned = HcaClass("compute", driver="mlx5_core", link_layer="Ethernet", count=9)
    assert rows(planned, devices)[7:] == [("mlx5_7", 7, True), ("compute-8", 8, False)]


def test_a_count_of_another_link_layer_finds_none(devices) -> None:
    planned = HcaClass("compute", link_layer="InfiniBand", count=2)
    assert rows(planned, devices) == [("compute-0", 0, False), ("compute-1", 1, False)]


def test_without_a_count_at_least_one_is_expected() -> None:
    assert rows(HcaClass("compute"), ()) == [("compute-0", 0, False)]


def test_more_than_the_count_is_surplus(devices) -> None:
    planned = HcaClass("compute", count=6)
    assert [device.name for device in surplus_hcas(planned, devices)] == ["mlx5_6", "mlx5_7"]
    assert surplus_hcas(HcaClass("compute", devices=("mlx5_0",)), devices) == ()


def test_virtual_functions_count_only_without_physical_ones(recorded: Callable[..., Path], hosts) -> None:
    root = recorded("h100x8")
    hardware = "sys/devices/pci0000:10/0000:10:01.0/0000:11:00.0/0000:12:02.0/0000:15:00.0"
    (root / hardware / "physfn").symlink_to("../../0000:12:03.0/0000:16:00.0")
    devices = read_devices(Tree(root))
    assert devices[0].physical_function == "0000:16:00.0"
    assert [name for name, *_ in rows(HcaClass("compute", count=7), devices)] == [f"mlx5_{i}" for i in range(1, 8)]
    assert rows(HcaClass("compute", count=1), devices[:1]) == [("mlx5_0", 0, True)]
