"""Register memory on one RDMA device, let it go again, and say in one line of JSON how far that went.

``python _register.py DEVICE BYTES [REGIONS]``: runs as a child so that a hang or a crash in the driver is the child's.
The bytes are split over several regions held at once, since the kernel counts their sum against the limit.

``python _register.py DEVICE dmabuf`` registers a DMA-BUF with an invalid descriptor instead: a driver that knows
DMA-BUF refuses the descriptor (EBADF), any other refuses the request. It is how NCCL asks, too.

``RDMA_GATE_FALLBACK`` tells that the libibverbs found here is not the image's, and why (``probes/_runner.py``).
"""

import ctypes
import errno
import json
import mmap
import os
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

LOCAL_WRITE, REMOTE_WRITE, REMOTE_READ = 1, 2, 4
LIBRARY = "libibverbs.so.1"


@dataclass(frozen=True)
class Registration:
    """How far it went: ``library``, ``symbol``, ``list``, ``open``, ``pd``, ``register`` or ``done``; errno 0 is none.

    ``symbol`` is a libibverbs that has no call to register a DMA-BUF. ``library`` is the file of libibverbs that was
    loaded; ``fallback`` says why that is not the image's own, empty where it is.
    """

    device: str
    stage: str
    errno: int = 0
    registered_bytes: int = 0
    seconds: float = 0.0
    devices: tuple[str, ...] = ()
    library: str = ""
    fallback: str = ""


# what to do with libibverbs and a protection domain of the opened device
Act = Callable[[Any, int, Registration], Registration]


def register(device: str, wanted_bytes: int, regions: int) -> Registration:
    """Open, allocate a protection domain, register all regions, undo everything. Nothing is raised for a refusal."""
    sizes_bytes = [wanted_bytes // regions] * regions
    return _on_device(device, lambda verbs, domain, so_far: _register(verbs, domain, so_far, sizes_bytes))


def ask_dmabuf(device: str) -> Registration:
    """Register no bytes of no DMA-BUF; the errno at stage ``register`` is the answer."""
    return _on_device(device, _ask_dmabuf)


def _on_device(device: str, act: Act) -> Registration:
    start = Registration(device, "library")
    try:
        verbs = _load()
    except OSError:
        return start
    count = ctypes.c_int(0)
    devices = verbs.ibv_get_device_list(ctypes.byref(count))
    found = {verbs.ibv_get_device_name(devices[i]).decode(): devices[i] for i in range(count.value)} if devices else {}
    try:
        if device not in found:
            return replace(start, stage="list", devices=tuple(found))
        return _open(verbs, found[device], replace(start, stage="open"), act)
    finally:
        if devices:
            verbs.ibv_free_device_list(devices)


def _load() -> Any:
    verbs = ctypes.CDLL(LIBRARY, use_errno=True)
    verbs.ibv_get_device_list.restype = ctypes.POINTER(ctypes.c_void_p)
    verbs.ibv_get_device_name.restype = ctypes.c_char_p
    verbs.ibv_get_device_name.argtypes = [ctypes.c_void_p]
    for name in ("ibv_open_device", "ibv_alloc_pd", "ibv_reg_mr"):
        getattr(verbs, name).restype = ctypes.c_void_p
    for name in ("ibv_open_device", "ibv_alloc_pd", "ibv_close_device", "ibv_dealloc_pd", "ibv_dereg_mr"):
        getattr(verbs, name).argtypes = [ctypes.c_void_p]
    verbs.ibv_reg_mr.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    return verbs


def _open(verbs: Any, handle: int, so_far: Registration, act: Act) -> Registration:
    context = verbs.ibv_open_device(handle)
    if not context:
        return replace(so_far, errno=ctypes.get_errno())
    try:
        domain = verbs.ibv_alloc_pd(context)
        if not domain:
            return replace(so_far, stage="pd", errno=ctypes.get_errno())
        try:
            return act(verbs, domain, replace(so_far, stage="register"))
        finally:
            verbs.ibv_dealloc_pd(domain)
    finally:
        verbs.ibv_close_device(context)


def _register(verbs: Any, domain: int, so_far: Registration, sizes_bytes: list[int]) -> Registration:
    """The regions and their memory live until all were tried: one after the other would prove the largest alone."""
    held: list[tuple[int, mmap.mmap]] = []
    started = time.monotonic()
    registered = 0
    try:
        for size_bytes in sizes_bytes:
            memory = mmap.mmap(-1, size_bytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
            address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
            region = verbs.ibv_reg_mr(domain, address, size_bytes, LOCAL_WRITE | REMOTE_WRITE | REMOTE_READ)
            if not region:
                return replace(so_far, errno=ctypes.get_errno(), registered_bytes=registered)
            held.append((region, memory))
            registered += size_bytes
    except OSError as error:
        return replace(so_far, errno=error.errno or errno.ENOMEM, registered_bytes=registered)
    finally:
        for region, _ in held:
            verbs.ibv_dereg_mr(region)
    return replace(so_far, stage="done", registered_bytes=registered, seconds=time.monotonic() - started)


def _ask_dmabuf(verbs: Any, domain: int, so_far: Registration) -> Registration:
    if not hasattr(verbs, "ibv_reg_dmabuf_mr"):
        return replace(so_far, stage="symbol")
    ask = verbs.ibv_reg_dmabuf_mr
    ask.restype = ctypes.c_void_p
    ask.argtypes = [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_size_t, ctypes.c_uint64, ctypes.c_int, ctypes.c_int]
    region = ask(domain, 0, 0, 0, -1, 0)
    if region:
        verbs.ibv_dereg_mr(region)
        return replace(so_far, stage="done")
    return replace(so_far, errno=ctypes.get_errno())


def _loaded_library() -> str:
    try:
        rows = Path("/proc/self/maps").read_text().splitlines()
    except OSError:
        return ""
    return next((row.split()[-1] for row in rows if "/libibverbs.so" in row), "")


if __name__ == "__main__":
    name, wanted, *more = sys.argv[1:]
    answer = ask_dmabuf(name) if wanted == "dmabuf" else register(name, int(wanted), int(more[0]) if more else 4)
    answer = replace(answer, library=_loaded_library(), fallback=os.environ.get("RDMA_GATE_FALLBACK", ""))
    sys.stdout.write(json.dumps(asdict(answer)) + "\n")
