"""Register memory on one RDMA device, let it go again, and say in one line of JSON how far that went.

``python _register.py DEVICE BYTES [REGIONS]``: runs as a child so that a hang or a crash in the driver is the child's.
The bytes are split over several regions held at once, since the kernel counts their sum against the limit.
"""

import ctypes
import errno
import json
import mmap
import sys
import time
from dataclasses import asdict, dataclass, replace
from typing import Any

LOCAL_WRITE, REMOTE_WRITE, REMOTE_READ = 1, 2, 4
LIBRARY = "libibverbs.so.1"


@dataclass(frozen=True)
class Registration:
    """How far it went: ``library``, ``list``, ``open``, ``pd``, ``register`` or ``done``; errno 0 is none."""

    device: str
    stage: str
    errno: int = 0
    registered_bytes: int = 0
    seconds: float = 0.0
    devices: tuple[str, ...] = ()


def register(device: str, wanted_bytes: int, regions: int) -> Registration:
    """Open, allocate a protection domain, register all regions, undo everything. Nothing is raised for a refusal."""
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
        return _open(verbs, found[device], replace(start, stage="open"), [wanted_bytes // regions] * regions)
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


def _open(verbs: Any, handle: int, so_far: Registration, sizes_bytes: list[int]) -> Registration:
    context = verbs.ibv_open_device(handle)
    if not context:
        return replace(so_far, errno=ctypes.get_errno())
    try:
        domain = verbs.ibv_alloc_pd(context)
        if not domain:
            return replace(so_far, stage="pd", errno=ctypes.get_errno())
        try:
            return _register(verbs, domain, replace(so_far, stage="register"), sizes_bytes)
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


if __name__ == "__main__":
    answer = register(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 4)
    sys.stdout.write(json.dumps(asdict(answer)) + "\n")
