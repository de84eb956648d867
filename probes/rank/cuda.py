"""The little of the CUDA driver that a rank needs, by its stable C interface: one device, its memory, one stream.

The primary context is used, which is also the one that NCCL takes.
"""

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from probes.rank.failure import RankFailure

LIBRARY = "libcuda.so.1"
NOT_READY = 600
OUT_OF_MEMORY = 2
STREAM_NON_BLOCKING = 1
PCI_TEXT_BYTES = 32

_POINTER, _SIZE, _INT = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
_ADDRESS = ctypes.c_uint64

SIGNATURES: dict[str, tuple[Any, ...]] = {
    "cuInit": (ctypes.c_uint,),
    "cuDriverGetVersion": (ctypes.POINTER(_INT),),
    "cuDeviceGetCount": (ctypes.POINTER(_INT),),
    "cuDeviceGet": (ctypes.POINTER(_INT), _INT),
    "cuDeviceGetUuid": (_POINTER, _INT),
    "cuDeviceGetPCIBusId": (_POINTER, _INT, _INT),
    "cuDevicePrimaryCtxRetain": (ctypes.POINTER(_POINTER), _INT),
    "cuCtxSetCurrent": (_POINTER,),
    "cuCtxSynchronize": (),
    "cuMemGetInfo_v2": (ctypes.POINTER(_SIZE), ctypes.POINTER(_SIZE)),
    "cuMemAlloc_v2": (ctypes.POINTER(_ADDRESS), _SIZE),
    "cuMemFree_v2": (_ADDRESS,),
    "cuMemcpyHtoD_v2": (_ADDRESS, _POINTER, _SIZE),
    "cuMemcpyDtoH_v2": (_POINTER, _ADDRESS, _SIZE),
    "cuMemsetD8_v2": (_ADDRESS, ctypes.c_ubyte, _SIZE),
    "cuStreamCreate": (ctypes.POINTER(_POINTER), ctypes.c_uint),
    "cuStreamQuery": (_POINTER,),
    "cuEventCreate": (ctypes.POINTER(_POINTER), ctypes.c_uint),
    "cuEventRecord": (_POINTER, _POINTER),
    "cuEventElapsedTime": (ctypes.POINTER(ctypes.c_float), _POINTER, _POINTER),
    "cuGetErrorName": (_INT, ctypes.POINTER(ctypes.c_char_p)),
    "cuGetErrorString": (_INT, ctypes.POINTER(ctypes.c_char_p)),
}


@dataclass(frozen=True, slots=True)
class Memory:
    """Device memory: its address, and its length in bytes."""

    address: int
    length_bytes: int


class Gpu:
    """The one visible GPU, current in this thread, with a stream and a pair of events of its own."""

    def __init__(self) -> None:
        """Raises RankFailure: gpu_missing where there is no driver or no device, cuda_error otherwise."""
        self._cuda = _load()
        self.device = self._first_device()
        context = _POINTER()
        self._call("cuDevicePrimaryCtxRetain", ctypes.byref(context), self.device)
        self._call("cuCtxSetCurrent", context)
        self.stream = self._new("cuStreamCreate", STREAM_NON_BLOCKING)
        self._began, self._ended = self._new("cuEventCreate", 0), self._new("cuEventCreate", 0)

    @property
    def uuid(self) -> str:
        """As nvidia-smi writes it."""
        raw = ctypes.create_string_buffer(16)
        self._call("cuDeviceGetUuid", raw, self.device)
        digits = raw.raw.hex()
        return "GPU-" + "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))

    @property
    def pci_address(self) -> str:
        """As sysfs writes it, ``0000:1b:00.0``."""
        text = ctypes.create_string_buffer(PCI_TEXT_BYTES)
        self._call("cuDeviceGetPCIBusId", text, PCI_TEXT_BYTES, self.device)
        return text.value.decode().lower()

    def free_bytes(self) -> int:
        """Memory that could be allocated now."""
        free, total = _SIZE(), _SIZE()
        self._call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
        return free.value

    def allocate(self, wanted_bytes: int) -> Memory:
        """Allocate device memory. Raises RankFailure gpu_memory."""
        address = _ADDRESS()
        status = self._cuda.cuMemAlloc_v2(ctypes.byref(address), wanted_bytes)
        if status == OUT_OF_MEMORY:
            raise RankFailure("gpu_memory", f"GPU memory: {wanted_bytes} bytes refused, {self.free_bytes()} free")
        self._check("cuMemAlloc", status)
        return Memory(address.value, wanted_bytes)

    def write(self, memory: Memory, offset: int, data: bytes) -> None:
        """Copy from the host."""
        self._call("cuMemcpyHtoD_v2", memory.address + offset, data, len(data))

    def read(self, memory: Memory, offset: int, length: int) -> bytes:
        """Copy to the host."""
        host = ctypes.create_string_buffer(length)
        self._call("cuMemcpyDtoH_v2", host, memory.address + offset, length)
        return host.raw

    def fill(self, memory: Memory, byte: int) -> None:
        """Set every byte, and wait until that is done."""
        self._call("cuMemsetD8_v2", memory.address, byte, memory.length_bytes)
        self._call("cuCtxSynchronize")

    def is_idle(self) -> bool:
        """Whether the stream has done all its work. Raises RankFailure cuda_error for work that failed."""
        status = self._cuda.cuStreamQuery(self.stream)
        if status == NOT_READY:
            return False
        self._check("cuStreamQuery", status)
        return True

    @contextmanager
    def timed(self) -> Iterator[None]:
        """Note on the stream when what is enqueued inside begins and ends."""
        self._call("cuEventRecord", self._began, self.stream)
        yield
        self._call("cuEventRecord", self._ended, self.stream)

    def elapsed_seconds(self) -> float:
        """The time between the two notes, once the stream is idle."""
        milliseconds = ctypes.c_float()
        self._call("cuEventElapsedTime", ctypes.byref(milliseconds), self._began, self._ended)
        return milliseconds.value / 1e3

    def _first_device(self) -> int:
        status = self._cuda.cuInit(0)
        count = _INT(0)
        if not status:
            self._call("cuDeviceGetCount", ctypes.byref(count))
        if status or not count.value:
            found = f"cuInit answered {self._words(status)}" if status else "no device"
            raise RankFailure("gpu_missing", f"{found} found, one visible GPU wanted")
        device = _INT()
        self._call("cuDeviceGet", ctypes.byref(device), 0)
        return device.value

    def _new(self, name: str, flags: int) -> int | None:
        handle = _POINTER()
        self._call(name, ctypes.byref(handle), flags)
        return handle.value

    def _call(self, name: str, *arguments: Any) -> None:
        self._check(name, getattr(self._cuda, name)(*arguments))

    def _check(self, name: str, status: int) -> None:
        if status:
            raise RankFailure("cuda_error", f"{name} answered {self._words(status)}, success wanted")

    def _words(self, status: int) -> str:
        texts = []
        for name in ("cuGetErrorName", "cuGetErrorString"):
            text = ctypes.c_char_p()
            getattr(self._cuda, name)(status, ctypes.byref(text))
            texts.append((text.value or b"unknown").decode())
        return f"{status} {texts[0]} ({texts[1]})"


def _load() -> Any:
    try:
        cuda = ctypes.CDLL(LIBRARY)
        for name, arguments in SIGNATURES.items():
            getattr(cuda, name).argtypes = arguments
    except (OSError, AttributeError) as error:
        raise RankFailure("gpu_missing", f"no usable {LIBRARY} ({error}) found, NVIDIA's driver wanted") from error
    return cuda
