"""PCI functions with the bridges above them, and how far apart two of them are, in the words of ``nvidia-smi topo``.

There is no NVML call for the distance between a GPU and a NIC: it follows from the device paths in sysfs.
"""

from dataclasses import dataclass
from enum import IntEnum
from itertools import takewhile

from probes._host import Tree
from probes.readers.optional import optional_link, optional_number

PCI = "/sys/bus/pci/devices"


class Distance(IntEnum):
    """Nearest first."""

    LOC = 0
    PIX = 1
    PXB = 2
    PHB = 3
    NODE = 4
    SYS = 5


@dataclass(frozen=True, slots=True)
class PciFunction:
    """One function. ``path`` runs from its host bridge (``pci0000:00``) to itself; ``numa_node`` is -1 when unknown.

    ``pci_class`` is the 24-bit class (0x030200 for a GPU without display), ``vendor`` the 16-bit vendor id.
    """

    address: str
    pci_class: int
    vendor: int
    numa_node: int
    path: tuple[str, ...]

    @property
    def on_root_bus(self) -> bool:
        """Directly on the host bridge, as hypervisors show passed-through devices: its real place cannot be seen."""
        return len(self.path) <= 2


def read_pci(tree: Tree) -> tuple[PciFunction, ...]:
    """All PCI functions in order of their address; those without a device path are left out."""
    functions = (_read_function(tree, address) for address in tree.names(PCI))
    return tuple(function for function in functions if function.path)


def distance(one: PciFunction, other: PciFunction) -> Distance | None:
    """How far apart two functions are; None when they hang on different host bridges and a NUMA node is unknown.

    PIX: a single bridge or switch. PXB: several. PHB: one host bridge. NODE: one NUMA node. SYS: different ones.
    """
    if _slot(one) == _slot(other):
        return Distance.LOC
    if one.path[0] != other.path[0]:
        return _across_host_bridges(one, other)
    shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one.path, other.path, strict=False)))
    if shared == 1:
        return Distance.PHB
    below = max(len(one.path), len(other.path)) - shared
    # below the shared bridge a single switch has one downstream port and then the function
    return Distance.PIX if below <= 2 else Distance.PXB


def _across_host_bridges(one: PciFunction, other: PciFunction) -> Distance | None:
    if one.numa_node < 0 or other.numa_node < 0:
        return None
    return Distance.NODE if one.numa_node == other.numa_node else Distance.SYS


def _slot(function: PciFunction) -> str:
    return function.address.rpartition(".")[0]


def _read_function(tree: Tree, address: str) -> PciFunction:
    path = f"{PCI}/{address}"
    parts = optional_link(tree, path).split("/")
    start = next((i for i, part in enumerate(parts) if part.startswith("pci")), len(parts))
    return PciFunction(
        address=address,
        pci_class=optional_number(tree, f"{path}/class"),
        vendor=optional_number(tree, f"{path}/vendor"),
        numa_node=optional_number(tree, f"{path}/numa_node"),
        path=tuple(parts[start:]),
    )
