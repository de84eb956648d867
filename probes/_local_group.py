"""One node of a group on this machine: its GPUs are chosen and its ranks started here; what they leave is collected.

The ranks end with their process groups at the deadline, when stopped, and soon after the first of them failed.
"""

import asyncio
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from probes import ProbeError
from probes._burst_counters import read_all_counters
from probes._burst_gpus import free_gpus
from probes._burst_node import BurstNode
from probes._burst_processes import BurstProcesses, Ends
from probes._burst_ranks import made_unique_id, rank_outcomes, read_report, start_ranks
from probes._burst_tests import read_tests, start_tests, tests_outcomes, tests_stdout
from probes._group import BurstOutcome, BurstReady, BurstRequest, BurstWay
from probes._local_endpoint import COUNTERS_SETTLE_SECONDS
from probes.readers.gpu import Gpu

ID_POLL_SECONDS = 0.02
FOLDERS = "burst-"

Counters = Mapping[str, Mapping[str, int]]


@dataclass(frozen=True)
class _Running:
    burst: BurstRequest
    gpus: tuple[Gpu, ...]
    folder: Path
    processes: BurstProcesses
    argv: tuple[str, ...]
    counters_before: Counters


def remove_left_over(directory: Path) -> None:
    """Remove what bursts of a process that was killed left in its directory."""
    for folder in directory.glob(f"{FOLDERS}*"):
        shutil.rmtree(folder, ignore_errors=True)


class LocalGroupEndpoint:
    """The GroupEndpoint of this machine; one burst at a time."""

    def __init__(self, node: BurstNode) -> None:
        self.node = node.name
        self._node = node
        self._running: _Running | None = None
        self._outcome: BurstOutcome | None = None

    @property
    def pids(self) -> tuple[int, ...]:
        """The process ids of what runs, rank by rank; of nccl-tests one for all."""
        return self._running.processes.pids if self._running else ()

    async def start(self, burst: BurstRequest) -> BurstReady:
        """Start this node's ranks; returns once the unique id is known.

        Raises Refused gpu_busy; ProbeError gpu_missing, tool_missing, or the reason for which no id was made.
        """
        self._running = self._outcome = None
        report = await self._node.gpus()
        gpus = free_gpus(self.node, report, burst.ranks_here)
        before = await self._node.host.read(read_all_counters)
        folder = Path(tempfile.mkdtemp(prefix=FOLDERS, dir=self._node.directory))
        try:
            argv = (*self._node.rank_program, str(folder))
            if burst.way is BurstWay.NCCL_TESTS:
                processes, argv = await start_tests(self._node, burst, gpus, report, folder)
            else:
                processes = await start_ranks(self._node, burst, gpus, report, folder)
            self._running = _Running(burst, gpus, folder, processes, argv, before)
            return BurstReady(await self._unique_id(self._running))
        except BaseException:
            await self.stop()
            shutil.rmtree(folder, ignore_errors=True)
            self._running = None
            raise

    async def wait(self) -> BurstOutcome:
        """Wait for the ranks' end and return what they left. Raises ProbeError when nothing was started."""
        if self._outcome is None:
            if self._running is None:
                raise ProbeError("not_started", f"{self.node}: no burst started, one needed")
            ends = await self._running.processes.ends()
            await asyncio.sleep(COUNTERS_SETTLE_SECONDS)
            after = await self._node.host.read(read_all_counters)
            self._outcome = self._collect(self._running, ends, after)
            shutil.rmtree(self._running.folder, ignore_errors=True)
        return self._outcome

    async def stop(self) -> None:
        """Kill whatever runs, at once."""
        if self._running is not None:
            await self._running.processes.stop()

    async def _unique_id(self, running: _Running) -> str:
        """What rank 0 made; it ended, or took too long, where there is none."""
        burst = running.burst
        if burst.unique_id or burst.way is BurstWay.NCCL_TESTS:
            return burst.unique_id
        limit_seconds = min(self._node.id_limit_seconds, burst.limit_seconds)
        deadline = asyncio.get_running_loop().time() + limit_seconds
        while not (made := made_unique_id(running.folder)):
            if running.processes.over:
                raise await self._failure(running)
            if asyncio.get_running_loop().time() > deadline:
                sentence = f"{self.node}: rank 0 made no unique id within {limit_seconds:g} s, one wanted"
                raise ProbeError("no_unique_id", sentence)
            await running.processes.wait(ID_POLL_SECONDS)
        return made

    async def _failure(self, running: _Running) -> ProbeError:
        """The reason of the rank that failed first."""
        ends = await running.processes.ends()
        ranks = rank_outcomes(running.burst, running.gpus, running.folder, ends)
        reason, _, sentence = ranks[ends.first or 0].detail.partition(": ")
        said = sentence or "rank 0 ended without a unique id, one wanted"
        return ProbeError(reason or "no_unique_id", f"{self.node}: {said}")

    def _collect(self, running: _Running, ends: Ends, after: Counters) -> BurstOutcome:
        is_tests = running.burst.way is BurstWay.NCCL_TESTS
        read = tests_outcomes if is_tests else rank_outcomes
        ranks = read(running.burst, running.gpus, running.folder, ends)
        return BurstOutcome(
            node=self.node,
            argv=running.argv,
            ranks=ranks,
            nccl_version=_nccl_version(running, ends),
            stdout=tests_stdout(running.folder, ends) if is_tests else "",
            counters_before=running.counters_before,
            counters_after=after,
            truncated=any(one.truncated for one in ends.completed),
        )


def _nccl_version(running: _Running, ends: Ends) -> str:
    if running.burst.way is BurstWay.NCCL_TESTS:
        return read_tests(running.folder, ends).nccl_version
    ranks = range(running.burst.first_rank, running.burst.first_rank + running.burst.ranks_here)
    reports = (read_report(running.folder, rank) for rank in ranks)
    return next((report.nccl_version for report in reports if report and report.nccl_version), "")
