"""PCI functions with the bridges above them, and how far apart two of them are, in the words of ``nvidia-smi topo``.

There is no NVML call for the distance between a GPU and a NIC: it follows from the device paths in sysfs.
"""

from dataclasses import dataclass
from enum import IntEnum
from itertools import takewhile

from probes._host import Tree
from probes.readers.optional import optional_link, optional_number, optional_text

PCI = "/sys/bus/pci/devices"
NODES_ONLINE = "/sys/devices/system/node/online"
BRIDGE_CLASS, DISPLAY_CLASSES, ACCELERATOR_CLASS = 0x06, (0x0300, 0x0302), 0x1200
NVIDIA, AMD, MELLANOX = 0x10DE, 0x1002, 0x15B3


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

    ``pci_class`` is the 24-bit class (0x030200 for a GPU without display), ``vendor`` and ``device_id`` have 16 bits.
    ``physical_function`` is the address of the PF where this is a virtual function that the kernel made. Of bridges
    neither of the last two is read.
    """

    address: str
    pci_class: int
    vendor: int
    numa_node: int
    path: tuple[str, ...]
    device_id: int = -1
    physical_function: str = ""

    @property
    def is_gpu(self) -> bool:
        """A display or 3D controller of NVIDIA or AMD, or AMD's accelerator; functions made of a GPU do not count."""
        kind = self.pci_class >> 8
        of_nvidia = self.vendor == NVIDIA and kind in DISPLAY_CLASSES
        of_amd = self.vendor == AMD and kind in (*DISPLAY_CLASSES, ACCELERATOR_CLASS)
        return (of_nvidia or of_amd) and not self.physical_function

    @property
    def on_root_bus(self) -> bool:
        """Directly on the host bridge, as hypervisors show passed-through devices: its real place cannot be seen."""
        return len(self.path) <= 2


def read_pci(tree: Tree) -> tuple[PciFunction, ...]:
    """All PCI functions in order of their address; those without a device path are left out."""
    functions = (_read_function(tree, address) for address in tree.names(PCI))
    return tuple(function for function in functions if function.path)


def read_single_node(tree: Tree) -> bool:
    """Whether the machine has one NUMA node, so that all there is belongs to it whatever the firmware says."""
    return optional_text(tree, NODES_ONLINE) == "0"


def distance(one: PciFunction, other: PciFunction, *, single_node: bool = False) -> Distance | None:
    """How far apart two functions are; None when they hang on different host bridges and a NUMA node is unknown.

    PIX: a single bridge or switch. PXB: several. PHB: one host bridge. NODE: one NUMA node. SYS: different ones.
    """
    if _slot(one) == _slot(other):
        return Distance.LOC
    if one.path[0] != other.path[0]:
        return Distance.NODE if single_node else _across_host_bridges(one, other)
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
    pci_class = optional_number(tree, f"{path}/class")
    is_endpoint = pci_class >> 16 != BRIDGE_CLASS
    return PciFunction(
        address=address,
        pci_class=pci_class,
        vendor=optional_number(tree, f"{path}/vendor"),
        numa_node=optional_number(tree, f"{path}/numa_node"),
        path=tuple(parts[start:]),
        device_id=optional_number(tree, f"{path}/device") if is_endpoint else -1,
        physical_function=optional_link(tree, f"{path}/physfn").rpartition("/")[2] if is_endpoint else "",
    )
