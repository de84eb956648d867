"""What the kernel shows of GPUs, their driver and the two ways of GPUDirect; nothing is judged here."""

from collections.abc import Mapping
from dataclasses import dataclass

from probes._host import Tree
from probes.readers.libraries import read_libraries
from probes.readers.optional import optional_text
from probes.readers.pci import AMD, MELLANOX, NVIDIA, PciFunction, read_pci
from probes.readers.versions import read_versions

DATA_DIRECT_DEVICE = 0x2100
PEER_MODULES = ("nvidia_peermem", "nv_peer_mem")
NVIDIA_PEERS = ("/sys/kernel/mm/memory_peers/nv_mem/version", "/sys/kernel/mm/memory_peers/nv_mem_nc/version")
AMD_PEERS = tuple(f"{base}/memory_peers/amdkfd/version" for base in ("/sys/kernel/mm", "/sys/kernel", "/sys"))
# whichever of them exports ib_register_peer_memory_client names the peer module among its holders
HOLDERS = ("/sys/module/ib_core/holders", "/sys/module/ib_uverbs/holders")
AMD_NEEDS = ("CONFIG_DMABUF_MOVE_NOTIFY=y", "CONFIG_PCI_P2PDMA=y")
KERNEL_CONFIG_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class PeerMemory:
    """The peer-memory client: its module when loaded, whether the RDMA core knows it (None: cannot be told).

    ``files`` says whether the older mark below ``memory_peers`` is there, the only one that NCCL before 2.23 looks for.
    """

    module: str
    registered: bool | None
    files: bool


@dataclass(frozen=True, slots=True)
class GpuFacts:
    """``vendor`` is nvidia, amd or empty, ``gpus`` the PCI addresses. ``modules`` is open, closed or empty (not told).

    ``amd_dmabuf`` is whether the kernel was built for DMA-BUF between amdgpu and NICs, None when its configuration
    cannot be read. ``data_direct`` are the PCI addresses of ConnectX-8 data paths of their own.
    """

    vendor: str
    gpus: tuple[str, ...]
    driver: str
    modules: str
    kernel: str
    rdma_core: str
    nccl: str
    peer: PeerMemory
    data_direct: tuple[str, ...]
    amd_dmabuf: bool | None = None


def read_gpu_facts(tree: Tree) -> GpuFacts:
    """Read all of it; what is absent is empty."""
    functions = read_pci(tree)
    versions = read_versions(tree)
    by_vendor = {name: _gpus(functions, number) for name, number in (("nvidia", NVIDIA), ("amd", AMD))}
    vendor = next((name for name, gpus in by_vendor.items() if gpus), "nvidia" if versions["nvidia"] else "")
    amd = vendor == "amd"
    nccl = read_libraries(tree).get("nccl")
    return GpuFacts(
        vendor=vendor,
        gpus=by_vendor.get(vendor, ()),
        driver=optional_text(tree, "/sys/module/amdgpu/version") if amd else versions["nvidia"],
        modules="" if amd else _modules(tree, versions),
        kernel=versions["kernel"],
        rdma_core=versions["rdma_core"],
        nccl=nccl.version if nccl else "",
        peer=_amd_peer(tree) if amd else _nvidia_peer(tree),
        data_direct=tuple(
            one.address for one in functions if (one.vendor, one.device_id) == (MELLANOX, DATA_DIRECT_DEVICE)
        ),
        amd_dmabuf=_amd_dmabuf(tree, versions["kernel"]) if amd else None,
    )


def _gpus(functions: tuple[PciFunction, ...], vendor: int) -> tuple[str, ...]:
    return tuple(one.address for one in functions if one.is_gpu and one.vendor == vendor)


def _modules(tree: Tree, versions: Mapping[str, str]) -> str:
    """By the version's own words; where these are hidden, a proprietary licence taints the kernel (P)."""
    if versions["nvidia_open"]:
        return "open" if versions["nvidia_open"] == "yes" else "closed"
    taint = optional_text(tree, "/sys/module/nvidia/taint")
    return ("closed" if "P" in taint else "open") if taint else ""


def _nvidia_peer(tree: Tree) -> PeerMemory:
    module = next((name for name in PEER_MODULES if tree.exists(f"/sys/module/{name}")), "")
    files = any(tree.exists(path) for path in NVIDIA_PEERS)
    if files:
        return PeerMemory(module or "nv_mem", registered=True, files=True)
    holders = [name for folder in HOLDERS for name in tree.names(folder)]
    if not module:
        visible = tree.exists("/sys/module")
        return PeerMemory("", registered=False if visible else None, files=False)
    told = any(tree.exists(folder) for folder in HOLDERS)
    return PeerMemory(module, registered=module in holders if told else None, files=False)


def _amd_peer(tree: Tree) -> PeerMemory:
    """A peer interface of the kernel's own leaves no file, so that absence tells nothing."""
    found = any(tree.exists(path) for path in AMD_PEERS)
    return PeerMemory("amdkfd" if found else "", registered=True if found else None, files=found)


def _amd_dmabuf(tree: Tree, kernel: str) -> bool | None:
    try:
        lines = tree.text(f"/boot/config-{kernel}", KERNEL_CONFIG_BYTES).splitlines()
    except OSError:
        return None
    return set(AMD_NEEDS) <= set(lines)
