"""Shared memory is large enough for the collectives and data loaders of the workload.

Reads the size of the filesystem at ``/dev/shm``, where NCCL and data loaders put their segments. In a container it is
64 MiB unless the pod asks for more (an emptyDir of medium Memory).

Passes when the size is at least the one set.

Settings:
  at_least   bytes that /dev/shm must have

Cannot see: how much of it others will use, and whether the pod's memory limit lets it be filled.

Sources: statvfs(3); NCCL's notes on shared memory in containers.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from probes import Bytes, Finding, Kind, Metric, Owner, Reason, Sample, Subject
from probes._host import Host, Tree
from probes._problems import Problem, Shown, verdict

PATH = "/dev/shm"  # noqa: S108 the mount itself is the subject

METRICS = {"shared_memory_bytes": Metric(Kind.GAUGE, "The size of /dev/shm.")}

REASONS = {
    "shm_too_small": Reason("the container's /dev/shm is smaller than planned", Owner.PLATFORM),
    "shm_missing": Reason("there is no /dev/shm", Owner.PLATFORM),
}


@dataclass(frozen=True)
class Probe:
    """Settings as the module says."""

    at_least: Bytes

    async def run(self, host: Host) -> Iterable[Finding]:
        """One finding for the machine or container."""
        return [self._judge(await host.read(_read))]

    def _judge(self, size_bytes: int | None) -> Finding:
        subject = Subject(resource=PATH)
        if size_bytes is None:
            return verdict(subject, [Problem("shm_missing", f"none found, {_mebibytes(self.at_least)} wanted")], "")
        found = f"{_mebibytes(size_bytes)} found, at least {_mebibytes(self.at_least)} wanted"
        problems = [Problem("shm_too_small", found)] if size_bytes < self.at_least else []
        return verdict(subject, problems, found, Shown((Sample("shared_memory_bytes", float(size_bytes)),)))


def _read(tree: Tree) -> int | None:
    try:
        return tree.filesystem_bytes(PATH)
    except FileNotFoundError:
        return None


def _mebibytes(size_bytes: int) -> str:
    return f"{size_bytes / 2**20:.0f} MiB"
