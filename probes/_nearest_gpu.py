"""The GPU whose memory a test of one HCA uses: the nearest on PCI Express, so that the test is of the path a job takes.

By address, not by CUDA's number: that depends on the environment, and on which GPUs a container shows.
"""

from probes import ProbeError
from probes._host import Tree
from probes.readers.optional import innermost_pci_address, optional_link
from probes.readers.pci import NVIDIA, Distance, PciFunction, distance, read_pci, read_single_node
from probes.readers.sysfs import DEVICES

# farther than any distance that is known
UNKNOWN_DISTANCE = Distance.SYS + 1


def nearest_gpu(tree: Tree, device: str) -> str:
    """Return the PCI address of the nearest NVIDIA GPU, of equally near ones the first.

    Raises ProbeError gpu_missing where there is none.
    """
    functions = read_pci(tree)
    gpus = [one for one in functions if one.is_gpu and one.vendor == NVIDIA]
    if not gpus:
        raise ProbeError("gpu_missing", f"{device}: no NVIDIA GPU found, one wanted for its memory")
    address = innermost_pci_address(optional_link(tree, f"{DEVICES}/{device}/device"))
    hca = next((one for one in functions if one.address == address), None)
    if hca is None:
        return gpus[0].address
    single_node = read_single_node(tree)
    return min(gpus, key=lambda gpu: (_far(gpu, hca, single_node=single_node), gpu.address)).address


def _far(gpu: PciFunction, hca: PciFunction, *, single_node: bool) -> int:
    found = distance(gpu, hca, single_node=single_node)
    return UNKNOWN_DISTANCE if found is None else found
