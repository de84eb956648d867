"""The table of causes: one row for each way in which limits, permissions or GPUDirect fail, the nearest cause first."""

import errno
import re
from collections.abc import Iterator, Sequence

from exporter.judge.runtime_calls import Failed
from exporter.judge.runtime_gpu import TextGpu
from exporter.judge.runtime_limits import TextLimits
from probes._open_errors import open_problem
from probes._problems import Problem, unknown

_UNSUPPORTED = frozenset({errno.EOPNOTSUPP, errno.EPROTONOSUPPORT, errno.ENOSYS, errno.ENOTTY})
_PINNING = re.compile(r"reg_mr|reg_dmabuf_mr|create_(?:qp|cq|srq)|alloc_pd|^register$")
# perftest's -a: twice its largest message
SWEEP_BYTES = 16 << 20
# what a line says for itself: the reason, the words, and what was found
_LINES: tuple[tuple[str, str, str], ...] = (
    (
        "libibverbs_missing",
        r"Failed to open libibverbs\.so|libibverbs\.so\S*: cannot open shared object",
        "no libibverbs in this image",
    ),
    (
        "provider_missing",
        r"no userspace device-specific driver found|couldn't load driver '\S+'",
        "no userspace driver for the HCA in this image",
    ),
    (
        "driver_mismatch",
        r"Driver/library version mismatch",
        "a driver library of another version than the kernel module",
    ),
    (
        "driver_missing",
        r"couldn't communicate with the NVIDIA driver|no NVIDIA driver on your system",
        "no loaded GPU driver",
    ),
    ("cuda_too_new", r"CUDA driver version is insufficient for CUDA runtime", "a driver too old for the image's CUDA"),
    ("denial_logged", r"apparmor=\"DENIED\"|avc: +denied", "a denial of the security module in the kernel's log"),
    (
        "iommu_fault",
        r"DMAR: \[?DMA (?:Read|Write)|IO_PAGE_FAULT|arm-smmu.*(?:fault|F_TRANSLATION)",
        "an IOMMU that refused a device's access",
    ),
    ("no_efa_provider", r"fi_getinfo: provider efa output empty", "no EFA device in this container"),
)


def judge_text(
    lines: Sequence[str], limits: TextLimits, gpu: TextGpu, failed: Sequence[Failed], *, about_gpu: bool
) -> Problem | None:
    """The gravest cause, or None where the text complains of nothing."""
    return next(_causes(lines, limits, gpu, failed, about_gpu), None)


def _causes(
    lines: Sequence[str], limits: TextLimits, gpu: TextGpu, failed: Sequence[Failed], about_gpu: bool
) -> Iterator[Problem]:
    for one in failed:
        yield from _of_call(one, limits, gpu, about_gpu=about_gpu)
    for reason, pattern, found in _LINES:
        if any(re.search(pattern, line) for line in lines):
            yield Problem(reason, f"{found} found, none of that wanted")
    if not gpu.gdrdma:
        yield from _of_gpudirect(gpu)


def _of_call(one: Failed, limits: TextLimits, gpu: TextGpu, *, about_gpu: bool) -> Iterator[Problem]:
    if one.call == "open":
        yield open_problem("a device file", one.number)
    elif one.call == "shm" and one.number in (errno.ENOSPC, errno.ENOMEM):
        yield Problem("shm_too_small", f"{one.errno_name} for shared memory found, a larger /dev/shm wanted")
    elif _of_memory(one, limits, about_gpu=about_gpu):
        yield _out_of_memory(one, limits)
    elif one.of_dmabuf and one.number in _UNSUPPORTED:
        sentence = f"{one.errno_name} for a DMA-BUF found, an HCA driver that takes it wanted"
        yield Problem("dmabuf_nic_unsupported", sentence)
    elif one.number == errno.EFAULT or (one.call == "register" and about_gpu):
        yield _gpu_pointer(one, gpu)
    elif one.call == "ibv_open_device" and one.number:
        yield open_problem("the HCA", one.number)
    elif one.number in (errno.EPERM, errno.EACCES) and _PINNING.search(one.call):
        yield Problem("register_refused", f"{one.errno_name} of {one.call} found, registered memory wanted")


def _of_memory(one: Failed, limits: TextLimits, *, about_gpu: bool) -> bool:
    """ENOMEM, or no errno from a process that may lock less than perftest's largest buffers in host memory."""
    if one.number:
        return one.number == errno.ENOMEM and bool(_PINNING.search(one.call))
    small = (limits.memory_lock_bytes or SWEEP_BYTES) < SWEEP_BYTES and not limits.ipc_lock
    return one.call == "register" and small and not about_gpu


def _out_of_memory(one: Failed, limits: TextLimits) -> Problem:
    found = f"{one.errno_name or 'a refusal'} of {one.call}"
    if limits.ipc_lock:
        return Problem("memory_cgroup", f"{found} with CAP_IPC_LOCK effective found, more memory wanted")
    if limits.limited is False:
        sentence = f"{found} without a limit of locked memory found, more memory, or no user namespace, wanted"
        return Problem("memory_cgroup", sentence)
    if limits.limited:
        granted = limits.ipc_lock_bounding and limits.ipc_lock is False
        reason = "ipc_lock_not_effective" if granted else "memlock_too_small"
        size = f"{(limits.memory_lock_bytes or 0) // 1024} KiB of locked memory allowed"
        return Problem(reason, f"{found} with {size} found, as much as the workload pins wanted")
    sentence = f"{found} found, a larger memory-lock limit or more memory wanted (the text tells no limit)"
    return Problem("memory_registration_failed", sentence)


def _gpu_pointer(one: Failed, gpu: TextGpu) -> Problem:
    """The RDMA core does not know the address: nobody told it of GPU memory."""
    sentence = f"{one.errno_name or 'a refusal'} for GPU memory found, a registered peer-memory client wanted"
    if gpu.peer_registered or one.number not in (0, errno.EFAULT):
        return Problem("gpu_memory_registration_failed", f"{one.line[:120]!r} found, registered GPU memory wanted")
    return Problem("peermem_unregistered" if gpu.peer_loaded else "peermem_missing", sentence)


def _of_gpudirect(gpu: TextGpu) -> Iterator[Problem]:
    wanted = "GPUDirect wanted"
    if gpu.channels:
        staged = [channel.network for channel in gpu.channels if not channel.gdr]
        reason = "tcp_fallback" if "Socket" in staged else "host_staged"
        found = f"{len(staged)} of {len(gpu.channels)} channels over {', '.join(sorted(set(staged)))} without GDRDMA"
        yield Problem(reason, f"{found} found, {wanted}")
    if gpu.too_far:
        yield Problem("gpu_too_far", f"GPU and HCA at {gpu.too_far} found, a nearer pair wanted")
    if gpu.symbol and gpu.dmabuf_gpu:
        yield unknown("peermem_symbol_mismatch", f"{gpu.symbol[:120]!r} found; DMA-BUF needs no such module")
    elif gpu.symbol:
        yield Problem(
            "peermem_symbol_mismatch", f"{gpu.symbol[:120]!r} found, a module built for this RDMA core wanted"
        )
    if gpu.dmabuf_gpu is False and gpu.peer_registered is not True:
        reason = "closed_modules" if gpu.modules == "closed" else "dmabuf_gpu_unsupported"
        yield Problem(reason, f"no DMA-BUF on the GPU found, {wanted}")
    if gpu.disabled or gpu.peer_files is False or (gpu.peer_loaded and gpu.peer_held is False):
        yield from _of_peer_memory(gpu, wanted)
    if gpu.peer_loaded is False and gpu.modules == "closed":
        yield Problem("closed_modules", f"closed kernel modules without a peer-memory module found, {wanted}")


def _of_peer_memory(gpu: TextGpu, wanted: str) -> Iterator[Problem]:
    refused = f"GPUDirect disabled for {', '.join(gpu.disabled)} and " if gpu.disabled else ""
    if gpu.peer_registered and gpu.disabled:
        sentence = f"{refused}a registered peer-memory client found, one that NCCL sees wanted"
        yield Problem("peermem_unseen", sentence)
    elif gpu.peer_loaded is False:
        yield Problem("peermem_missing", f"{refused}no peer-memory module found, {wanted}")
    elif gpu.peer_registered is False:
        loaded = "a module that is loaded and" if gpu.peer_loaded else "a peer-memory client that is"
        sentence = f"{refused}{loaded} not registered with the RDMA core found, {wanted}"
        certain = gpu.disabled or gpu.peer_loaded
        yield Problem("peermem_unregistered", sentence) if certain else unknown("peermem_unregistered", sentence)
    elif gpu.disabled:
        yield Problem("gpudirect_disabled", f"{refused}no cause found, {wanted}")
