"""Ask the CUDA driver what each visible GPU can do for GPUDirect, and say it in one line of JSON.

``python _cuda_attributes.py``: runs as a child, because cuInit opens the GPUs (an open handle blocks a driver upgrade)
and can hang. No context is made, so no GPU memory is taken.
"""

import ctypes
import json
import sys
from typing import Any

LIBRARY = "libcuda.so.1"
# the numbers of CUdevice_attribute in cuda.h
ATTRIBUTES = {
    "integrated": 18,
    "major": 75,
    "minor": 76,
    "gpu_direct_rdma": 116,
    "dma_buf": 124,
}
BUS_ID_BYTES = 32


def attributes() -> dict[str, Any]:
    """How far it went (``library``, ``init``, ``count``, ``done``), CUDA's error number, and a row for each GPU.

    ``driver`` is the API version as CUDA counts: 12040 is 12.4. An attribute that this driver does not know is None.
    """
    try:
        cuda = ctypes.CDLL(LIBRARY)
    except OSError:
        return {"stage": "library", "error": 0}
    if error := cuda.cuInit(0):
        return {"stage": "init", "error": error}
    version, count = ctypes.c_int(0), ctypes.c_int(0)
    cuda.cuDriverGetVersion(ctypes.byref(version))
    if error := cuda.cuDeviceGetCount(ctypes.byref(count)):
        return {"stage": "count", "error": error, "driver": version.value}
    rows = [_device(cuda, ordinal) for ordinal in range(count.value)]
    return {"stage": "done", "error": 0, "driver": version.value, "devices": rows}


def _device(cuda: Any, ordinal: int) -> dict[str, Any]:
    device, address = ctypes.c_int(0), ctypes.create_string_buffer(BUS_ID_BYTES)
    cuda.cuDeviceGet(ctypes.byref(device), ordinal)
    cuda.cuDeviceGetPCIBusId(address, BUS_ID_BYTES, device)
    return {"pci": address.value.decode().lower()} | {
        name: _attribute(cuda, number, device) for name, number in ATTRIBUTES.items()
    }


def _attribute(cuda: Any, number: int, device: Any) -> int | None:
    value = ctypes.c_int(0)
    return None if cuda.cuDeviceGetAttribute(ctypes.byref(value), number, device) else value.value


if __name__ == "__main__":
    sys.stdout.write(json.dumps(attributes()) + "\n")
