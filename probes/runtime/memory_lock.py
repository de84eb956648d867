"""The process may pin as much memory as the workload needs, proved by registering some on each planned HCA.

Reads the memory-lock limit of ``/proc/self/limits`` and CAP_IPC_LOCK of ``/proc/self/status``, then registers memory on
each planned HCA through libibverbs, in a child process that lets it go at once. The sum of all regions counts.

Passes when the limit is at least the one set, or CAP_IPC_LOCK is effective, and each registration succeeds by the
libibverbs of this machine or image. In a test pod whose image has none that can be loaded the runner's own registers
instead, which tells what the machine allows; that is UNKNOWN all the same, since the workload would find no libibverbs.

Settings:
  limit      bytes that the workload pins in all
  register   bytes to register as a proof on each HCA, one HCA after the other
  full       register the whole limit instead: only on a node that carries no work
  hcas       the planned HCAs

Cannot see: the limit of other processes; what the workload will really pin. A capability that a manifest grants to a
user other than root is in the bounding set and not effective, unless it is ambient too. Nothing is registered (UNKNOWN)
where less than four times the size is available, in the machine or in the container's memory limit.

Sources: getrlimit(2), capabilities(7), ibv_reg_mr(3); the kernel's ib_umem_get() counts pinned pages per process.
"""

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from probes import Bytes, Evidence, Finding, HcaClass, Kind, Metric, Owner, Reason, Sample, Status, Subject
from probes._host import Command, Completed, Host, Tree
from probes._open_errors import OPEN_REASONS
from probes._problems import Problem, Shown, unknown, verdict
from probes.readers.hcas import match_hcas
from probes.readers.limits import Limits, read_limits
from probes.readers.memory import read_available_bytes
from probes.readers.sysfs import read_devices
from probes.runtime._registration import library_of, registration_problem

METRICS = {
    "memory_lock_limit_bytes": Metric(
        Kind.GAUGE, "The soft limit of locked memory; 2^64-1, the kernel's RLIM_INFINITY, when unlimited."
    ),
    "ipc_lock_effective": Metric(Kind.GAUGE, "1 when CAP_IPC_LOCK lifts the limit, else 0."),
    "memory_registered_bytes": Metric(Kind.GAUGE, "Memory that could be registered on the HCA as a proof."),
}

REASONS = OPEN_REASONS | {
    "device_missing": Reason("the kernel shows no such RDMA device", Owner.PLATFORM),
    "limits_unreadable": Reason("/proc does not tell the limits", Owner.PLATFORM),
    "memlock_too_small": Reason("the memory-lock limit is smaller than what the workload pins", Owner.PLATFORM),
    "ipc_lock_not_effective": Reason("CAP_IPC_LOCK is granted, but not effective for this user", Owner.PLATFORM),
    "memory_cgroup": Reason("registration is out of memory though the limit allows it", Owner.PLATFORM),
    "register_refused": Reason("the driver refuses to register memory", Owner.PLATFORM),
    "provider_missing": Reason("the image has no userspace driver for the device", Owner.PLATFORM),
    "libibverbs_missing": Reason("the image has no libibverbs", Owner.PLATFORM),
    "libibverbs_not_loaded": Reason("the image's libibverbs cannot be loaded by a test pod's runner", Owner.PLATFORM),
    "not_enough_memory": Reason("too little memory is free to register any without harm", Owner.PLATFORM),
    "tool_hung": Reason("the registration did not end in time", Owner.PLATFORM),
    "tool_failed": Reason("the registration gave no answer that can be read", Owner.PLATFORM),
}

CHILD = Path(__file__).with_name("_register.py")
HEADROOM = 4
SECONDS = 20.0
UNLIMITED_BYTES = float(2**64 - 1)  # records and their samples hold finite numbers only
SECONDS_PER_GIBIBYTE = 1.0


@dataclass(frozen=True, slots=True)
class Seen:
    """Limits, free memory, and each planned HCA with whether it is there."""

    limits: Limits
    available_bytes: int | None
    hcas: tuple[tuple[str, bool], ...]


@dataclass(frozen=True)
class Probe:
    """Settings as the module says."""

    limit: Bytes
    hcas: HcaClass
    register: Bytes = 256 << 20
    full: bool = False

    async def run(self, host: Host) -> Iterable[Finding]:
        """One finding for the limit and one for each planned HCA."""
        try:
            seen = await host.read(self._read)
        except (OSError, ValueError, KeyError) as error:
            sentence = f"limits not readable ({error}), readable ones wanted"
            return [verdict(Subject(resource="memlock"), [unknown("limits_unreadable", sentence)], "")]
        findings = [self._judge_limit(seen.limits)]
        for name, present in seen.hcas:
            findings.append(await self._judge_hca(host, seen, Subject(device=name), present))
        return findings

    def _read(self, tree: Tree) -> Seen:
        rows = match_hcas(self.hcas, read_devices(tree))
        hcas = tuple((row.name, row.device is not None) for row in rows)
        return Seen(read_limits(tree), read_available_bytes(tree), hcas)

    def _judge_limit(self, limits: Limits) -> Finding:
        subject = Subject(resource="memlock")
        found = f"limit {_size(limits.memory_lock_bytes)}, {_capability(limits)} found"
        sentence = f"{found}, {_size(self.limit)} wanted"
        samples = (
            Sample("memory_lock_limit_bytes", _number(limits.memory_lock_bytes)),
            Sample("ipc_lock_effective", float(limits.ipc_lock_effective)),
        )
        facts = dict(_facts(limits, self.limit))
        evidence = (Evidence("limits", "\n".join(f"{name}: {text}" for name, text in facts.items())),)
        enough = limits.ipc_lock_effective or _number(limits.memory_lock_bytes) >= self.limit
        reason = "ipc_lock_not_effective" if limits.ipc_lock_granted else "memlock_too_small"
        problems = [] if enough else [Problem(reason, sentence)]
        return verdict(subject, problems, sentence, Shown(samples, evidence, facts))

    async def _judge_hca(self, host: Host, seen: Seen, subject: Subject, present: bool) -> Finding:
        if not present:
            return verdict(subject, [Problem("device_missing", "no such RDMA device found, one wanted")], "")
        size_bytes = self.limit if self.full else self.register
        if seen.available_bytes is None or seen.available_bytes < HEADROOM * size_bytes:
            sentence = f"{_size(seen.available_bytes, 'unknown')} free found, {_size(HEADROOM * size_bytes)} wanted"
            return verdict(subject, [unknown("not_enough_memory", sentence)], "")
        completed = await host.run(_command(subject.device, size_bytes))
        registered, problem = registration_problem(completed, size_bytes, seen.limits)
        sample = Sample("memory_registered_bytes", float(registered))
        samples = (sample,) if problem is None or problem.status is Status.FAIL else ()
        library = library_of(completed)
        shown = Shown(samples, (_evidence(completed),), {"libibverbs": library} if library else {})
        return verdict(subject, [problem] if problem else [], f"{_size(registered)} registered", shown)


def _command(device: str, size_bytes: int) -> Command:
    argv = (sys.executable, "-I", "-S", str(CHILD), device, str(size_bytes))
    return Command(argv, SECONDS + SECONDS_PER_GIBIBYTE * size_bytes / 2**30)


def _evidence(completed: Completed) -> Evidence:
    return Evidence("registration", completed.stdout + completed.stderr, completed.argv, completed.exit_status)


def _capability(limits: Limits) -> str:
    if limits.ipc_lock_effective:
        return "CAP_IPC_LOCK effective"
    if limits.ipc_lock_granted:
        return "CAP_IPC_LOCK granted but not effective"
    return "no CAP_IPC_LOCK"


def _facts(limits: Limits, wanted_bytes: int) -> Iterator[tuple[str, str]]:
    yield "memory_lock_bytes", str(limits.memory_lock_bytes or "unlimited")
    yield "memory_lock_hard_bytes", str(limits.memory_lock_hard_bytes or "unlimited")
    yield "ipc_lock", _capability(limits)
    if limits.ipc_lock_effective and _number(limits.memory_lock_bytes) >= wanted_bytes:
        yield "ipc_lock_needed", "no: the limit alone is enough"
    yield "user_namespace", str(limits.user_namespace).lower()
    yield "seccomp", str(limits.seccomp)
    yield "no_new_privileges", str(limits.no_new_privileges).lower()
    yield "uid", str(limits.uid)


def _number(size_bytes: int | None) -> float:
    return UNLIMITED_BYTES if size_bytes is None else float(size_bytes)


def _size(size_bytes: int | None, none: str = "unlimited") -> str:
    if size_bytes is None:
        return none
    return f"{size_bytes / 2**20:g} MiB" if size_bytes >= 2**20 else f"{size_bytes / 2**10:g} KiB"
