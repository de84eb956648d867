"""Which GPUs and network functions this container was given, told from inside it without NVML.

A GPU is given when its device node is there: ``/proc/driver/nvidia/gpus`` has the number of each GPU's node, also where
the container runtime shows all of the machine's. SR-IOV functions are named in ``PCIDEVICE_*``; the RDMA shared plugin
names nothing and gives all of its HCAs.
"""

import re
from dataclasses import dataclass

from probes._host import Tree
from probes.readers.environment import pci_devices, read_environment
from probes.readers.gpu_proc import GPUS
from probes.readers.optional import PCI_ADDRESS, optional_text

_MINOR = re.compile(r"^Device Minor:\s*(\d+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class GivenDevices:
    """PCI addresses. ``gpus`` is None where the driver does not tell; ``functions`` are those of SR-IOV plugins.

    ``verbs`` are the verbs devices of which a node is there ("uverbs3").
    """

    gpus: tuple[str, ...] | None
    functions: tuple[str, ...]
    verbs: frozenset[str]


def read_given_devices(tree: Tree) -> GivenDevices:
    """Return what is given; ``/dev`` decides, not what the kernel lists."""
    nodes = {name.removesuffix(".dev") for name in tree.names("/dev")}
    verbs = {name.removesuffix(".dev") for name in tree.names("/dev/infiniband")}
    functions = sorted(one for one in pci_devices(read_environment(tree)) if PCI_ADDRESS.fullmatch(one))
    return GivenDevices(_gpus(tree, nodes), tuple(functions), frozenset(verbs))


def _gpus(tree: Tree, nodes: set[str]) -> tuple[str, ...] | None:
    listed = [name for name in tree.names(GPUS) if PCI_ADDRESS.fullmatch(name.lower())]
    minors = {name.lower(): _MINOR.search(optional_text(tree, f"{GPUS}/{name}/information")) for name in listed}
    if not listed or not all(minors.values()):
        return None
    return tuple(sorted(name for name, minor in minors.items() if minor and f"nvidia{minor[1]}" in nodes))
