"""What perftest's own lines say of the memory that it tested: only device memory is proof of GPUDirect.

With ``--use_cuda`` the buffer can still lie in host memory: on an integrated GPU, or for another memory type. Releases
before 25.04 do not print the type; what they allocate on a GPU that is not integrated is device memory.
Source: perftest src/cuda_memory.c and, of older releases, src/perftest_resources.c.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

_INTEGRATED = re.compile(r"CUDA device integrated: ([0-9A-F]+)", re.IGNORECASE)
_ALLOCATED = re.compile(r"allocated (?:\d+ bytes of )?GPU buffer\b(?:.* for type (\w+))?")
_DMABUF = re.compile(r"using DMA-BUF for GPU buffer")
_DEVICE_TYPE = "CUDA_MEM_DEVICE"


@dataclass(frozen=True, slots=True)
class GpuBuffer:
    """``device_memory`` is None where the lines do not tell; ``line`` is the one that was decisive.

    ``dmabuf`` says that the tool exported the buffer as a DMA-BUF.
    """

    device_memory: bool | None = None
    dmabuf: bool = False
    line: str = ""


UNTOLD = GpuBuffer()


def read_gpu_buffer(lines: Iterable[str]) -> GpuBuffer:
    """Read one end's lines about GPUs."""
    kept = list(lines)
    integrated = next((found for line in kept if (found := _INTEGRATED.search(line))), None)
    allocated = next((found for line in kept if (found := _ALLOCATED.search(line))), None)
    dmabuf = any(_DMABUF.search(line) for line in kept)
    if allocated and allocated[1] not in (None, _DEVICE_TYPE):
        return GpuBuffer(device_memory=False, dmabuf=dmabuf, line=allocated.string.strip())
    if integrated and int(integrated[1], 16):
        return GpuBuffer(device_memory=False, dmabuf=dmabuf, line=integrated.string.strip())
    if integrated and allocated:
        return GpuBuffer(device_memory=True, dmabuf=dmabuf, line=allocated.string.strip())
    return GpuBuffer(dmabuf=dmabuf)
