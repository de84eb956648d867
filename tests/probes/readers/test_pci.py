"""Distances follow from the bridges that two functions share."""

from collections.abc import Callable
from pathlib import Path

import pytest

from probes._host import Tree
from probes.readers.pci import Distance, PciFunction, distance, read_pci

ROOT, PORT, UP = "pci0000:10", "0000:10:01.0", "0000:11:00.0"


def at(*path: str, numa_node: int = 0) -> PciFunction:
    return PciFunction(path[-1], 0x030200, 0x10DE, numa_node, path)


GPU = at(ROOT, PORT, UP, "0000:12:00.0", "0000:13:00.0")


@pytest.mark.parametrize(
    ("other", "far"),
    [
        (at(ROOT, PORT, UP, "0000:12:00.0", "0000:13:00.1"), Distance.LOC),
        (at(ROOT, PORT, UP, "0000:12:02.0", "0000:15:00.0"), Distance.PIX),
        (at(ROOT, PORT, UP, "0000:12:03.0", "0000:16:00.0", "0000:17:00.0", "0000:18:00.0"), Distance.PXB),
        (at(ROOT, "0000:10:02.0", "0000:20:00.0"), Distance.PHB),
        (at("pci0000:30", "0000:30:01.0", "0000:31:00.0"), Distance.NODE),
        (at("pci0000:90", "0000:90:01.0", "0000:91:00.0", numa_node=1), Distance.SYS),
        (at("pci0000:90", "0000:90:01.0", "0000:91:00.0", numa_node=-1), None),
    ],
)
def test_the_distance_of_a_gpu(other: PciFunction, far: Distance | None) -> None:
    assert (distance(GPU, other), distance(other, GPU)) == (far, far)


def test_two_unknown_numa_nodes_are_not_the_same() -> None:
    one = at("pci0000:10", "0000:10:01.0", "0000:11:00.0", numa_node=-1)
    other = at("pci0000:30", "0000:30:01.0", "0000:31:00.0", numa_node=-1)
    assert distance(one, other) is None


def test_functions_are_read_with_the_bridges_above_them(recorded: Callable[..., Path], hosts) -> None:
    functions = {function.address: function for function in read_pci(Tree(recorded("h100x8")))}
    assert functions[hosts.gpu_address(0)] == PciFunction(
        "0000:13:00.0",
        0x030200,
        0x10DE,
        0,
        ("pci0000:10", "0000:10:01.0", "0000:11:00.0", "0000:12:00.0", "0000:13:00.0"),
    )
    assert distance(functions[hosts.gpu_address(0)], functions[hosts.hca_address(0)]) is Distance.PIX


def test_a_machine_without_pci_has_no_functions(tmp_path: Path) -> None:
    assert read_pci(Tree(tmp_path)) == ()
