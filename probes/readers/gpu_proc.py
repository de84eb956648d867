"""What ``/proc/driver/nvidia`` says of each GPU, which needs neither NVML nor a GPU's device node."""

import re
from dataclasses import dataclass

from probes._host import Tree
from probes.readers.optional import PCI_ADDRESS, optional_text
from probes.readers.versions import read_versions

GPUS = "/proc/driver/nvidia/gpus"
LINE = re.compile(r"^(?P<name>[^:\n]+):[ \t]*(?P<text>[^\n]*?)[ \t]*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ProcGpu:
    """One GPU. ``uuid`` is empty where the driver writes question marks, since nobody has opened the GPU yet."""

    pci_address: str
    uuid: str
    name: str
    driver_version: str


def read_proc_gpus(tree: Tree) -> tuple[ProcGpu, ...]:
    """All GPUs of the NVIDIA driver by address; none without it."""
    addresses = [name.lower() for name in tree.names(GPUS) if PCI_ADDRESS.fullmatch(name.lower())]
    return tuple(_read(tree, address, read_versions(tree)["nvidia"]) for address in addresses)


def _read(tree: Tree, address: str, version: str) -> ProcGpu:
    text = optional_text(tree, f"{GPUS}/{address}/information")
    told = {found["name"].strip(): found["text"] for found in LINE.finditer(text)}
    uuid = told.get("GPU UUID", "")
    return ProcGpu(address, "" if "?" in uuid else uuid, told.get("Model", ""), version)
