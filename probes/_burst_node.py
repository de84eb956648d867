"""What the bursts of one node share: its GPUs, its settings, and how their processes are started."""

import os
import sys
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import probes
from probes._burst_settings import BurstSettings
from probes._group import BurstRequest
from probes._host import Command, Host
from probes.readers.gpu import GpuReport

RANK_ARGV = ("-P", "-m", "probes.rank")
ID_LIMIT_SECONDS = 60.0
OUTPUT_LIMIT_BYTES = 256 * 1024


@dataclass(frozen=True)
class BurstNode:
    """One node: ``gpus`` tells its GPUs as they are now, ``search_path`` is PATH, ``directory`` is for bursts' files.

    ``rank_argv`` are Python's arguments for one rank, before the burst's directory and the rank's number. There is a
    unique id within ``id_limit_seconds``.
    """

    name: str
    host: Host
    gpus: Callable[[], Awaitable[GpuReport]]
    settings: BurstSettings = field(default_factory=BurstSettings)
    search_path: str = ""
    directory: Path | None = None
    rank_argv: tuple[str, ...] = RANK_ARGV
    id_limit_seconds: float = ID_LIMIT_SECONDS

    @property
    def rank_program(self) -> tuple[str, ...]:
        """What starts a rank, without the burst's directory and the rank's number."""
        return (self.settings.python or sys.executable, *self.rank_argv)

    def command(
        self, argv: tuple[str, ...], burst: BurstRequest, environment: Mapping[str, str], *, at: int
    ) -> Command:
        """Return what starts a burst's ``at``-th process here; nothing else reaches its environment."""
        return Command(
            argv,
            burst.limit_seconds,
            output_limit_bytes=OUTPUT_LIMIT_BYTES,
            environment={**DEBUG, **self.settings.environment, **burst.environment, **environment},
            niceness=self.settings.niceness,
            cpus=self._cpus(burst.cpus_per_rank, at),
        )

    def _cpus(self, per_rank: int, at: int) -> frozenset[int]:
        if not per_rank:
            return self.settings.cpus
        allowed = sorted(self.settings.cpus or os.sched_getaffinity(0))
        # Where there are fewer than all ranks want, they share.
        return frozenset(allowed[(at * per_rank + i) % len(allowed)] for i in range(per_rank))


DEBUG = {
    "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
    "NCCL_DEBUG": "INFO",
    "NCCL_DEBUG_SUBSYS": "INIT,BOOTSTRAP,ENV,NET",
    # The package is found wherever this process found it, installed or not.
    "PYTHONPATH": str(Path(probes.__file__).parents[1]),
    "PYTHONDONTWRITEBYTECODE": "1",
}
