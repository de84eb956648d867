"""The verdict on pasted evidence about run time: limits, permissions, memory registration, GPUDirect.

The first cause counts: what was refused before what is only configured, and what NCCL's channels did before what it
promised. Configuration alone never passes: that memory can be registered is proved by registering it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from exporter.judge.judgement import Judgement
from exporter.judge.requirements import Requirement
from exporter.judge.runtime_calls import Failed, on_gpu, read_failed, swept
from exporter.judge.runtime_gpu import TextGpu, read_text_gpu
from exporter.judge.runtime_limits import KIB, UNLIMITED_BYTES, TextLimits, read_text_limits
from exporter.judge.runtime_rules import judge_text
from exporter.judge.targets import Verdict, hold_against
from probes import Status
from probes.tools.failures import classify
from probes.tools.pasted import read_pasted

KIND = "runtime"


@dataclass(frozen=True, slots=True)
class RuntimeText:
    """All that was read."""

    lines: tuple[str, ...]
    whole: bool
    limits: TextLimits
    gpu: TextGpu
    failed: tuple[Failed, ...]
    about_gpu: bool


def judge_runtime(text: str, requirements: Sequence[Requirement]) -> Judgement:
    """Judge logs, ``ulimit``, ``lsmod``, ``/proc`` and kernel messages, as they come."""
    pasted = read_pasted(text)
    told = RuntimeText(
        pasted.lines,
        pasted.whole,
        read_text_limits(pasted.lines, whole=pasted.whole),
        read_text_gpu(pasted.lines),
        read_failed(pasted.lines),
        on_gpu(pasted.lines),
    )
    values = _values(told)
    return Judgement(KIND, *_verdict(told, text, values, requirements), values, (), _warnings(told))


def _verdict(told: RuntimeText, text: str, values: dict[str, Any], requirements: Sequence[Requirement]) -> Verdict:
    if found := judge_text(told.lines, told.limits, told.gpu, told.failed, about_gpu=told.about_gpu):
        return found.status, found.reason, f"{KIND}: {found.sentence}"
    if failure := classify(text, ""):
        return failure.status, failure.reason, f"{KIND}: {failure.summary}"
    if requirements:
        return hold_against(values, requirements, KIND)
    return _unproved(told)


def _unproved(told: RuntimeText) -> Verdict:
    """What a text without any complaint is worth."""
    if told.gpu.gdrdma:
        return Status.PASS, "", f"{KIND}: {len(told.gpu.channels)} channels, each to GPU memory by RDMA"
    if told.limits.memory_locks_bytes or told.limits.shared_memory_bytes is not None:
        return Status.UNKNOWN, "no_target", f"{KIND}: limits found, how much the workload needs wanted (--require)"
    if told.gpu != TextGpu() or told.limits != TextLimits():
        sentence = "what could be found, a registration or a channel's line wanted as proof"
        return Status.UNKNOWN, "nothing_proved", f"{KIND}: {sentence}"
    why = "unparsable" if told.whole else "truncated"
    return Status.UNKNOWN, why, f"{KIND}: nothing about limits, permissions or GPUDirect found, some of it wanted"


def _values(told: RuntimeText) -> dict[str, Any]:
    limits, gpu = told.limits, told.gpu
    first = next((one for one in told.failed if one.number), None) or next(iter(told.failed), None)
    memory_lock = limits.memory_lock_bytes
    return {
        "memlock_bytes": memory_lock,
        "memlock_kib": memory_lock // KIB if memory_lock not in (None, UNLIMITED_BYTES) else None,
        "memlock_unlimited": None if limits.limited is None else not limits.limited,
        "ipc_lock_effective": limits.ipc_lock,
        "ipc_lock_in_bounding_set": limits.ipc_lock_bounding,
        "shared_memory_bytes": limits.shared_memory_bytes,
        "failed_call": first.call if first else None,
        "errno_name": first.errno_name or None if first else None,
        "perftest_may_still_pass": _small_buffers_fit(told),
        "kernel_modules": gpu.modules or None,
        "driver": gpu.driver or None,
        "peermem_loaded": gpu.peer_loaded,
        "memory_peers_registered": gpu.peer_registered,
        "dmabuf_on_gpu": gpu.dmabuf_gpu,
        "gdrdma": gpu.gdrdma,
        "gdr_enabled_hcas": list(gpu.enabled),
        "gdr_disabled_hcas": list(gpu.disabled),
        "channels": len(gpu.channels),
        "truncated": not told.whole,
    }


def _small_buffers_fit(told: RuntimeText) -> bool | None:
    """Perftest pins far less than NCCL: a limit that is too small for one may do for the other."""
    if not any(one.errno_name == "ENOMEM" for one in told.failed) or not told.limits.limited:
        return None
    of_perftest = any(one.call == "register" for one in told.failed)
    return not of_perftest and (told.limits.memory_lock_bytes or 0) >= PERFTEST_BYTES


PERFTEST_BYTES = 1 << 20


def _warnings(told: RuntimeText) -> list[str]:
    found = []
    if len(set(told.limits.memory_locks_bytes)) > 1:
        found.append("several memory-lock limits; the smallest is taken: shells, containers and job managers differ")
    if told.gpu.enabled and not told.gpu.channels:
        found.append("NCCL's 'Enabled for HCA' says that the HCA could, not that any channel did")
    if told.gpu.dmabuf_gpu and not told.gpu.channels:
        found.append("'DMA-BUF is available' is about the GPU alone; the HCA may still refuse")
    if told.gpu.peer_files is False:
        found.append("NCCL before 2.23 looks only below memory_peers, later ones also for the module itself")
    if swept(told.lines):
        found.append("-a registers the largest buffer first: 16 MiB at least")
    return found
