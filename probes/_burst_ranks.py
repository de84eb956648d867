"""One process a rank: how they are started, and what each of them left in the burst's directory."""

import asyncio
import json
import signal
from collections.abc import Sequence
from pathlib import Path

from probes._burst_gpus import visible
from probes._burst_node import BurstNode
from probes._burst_processes import BurstProcesses, Ends
from probes._endpoint import Ended
from probes._group import BurstRequest, RankOutcome
from probes._host import Completed, Process
from probes.rank.task import UNIQUE_ID, Report, Task, log_file, report_file, write_task, write_whole
from probes.readers.gpu import Gpu, GpuReport

LOG_LIMIT_BYTES = 512 * 1024
SAID_AT_MOST_CHARACTERS = 300


async def start_ranks(
    node: BurstNode, burst: BurstRequest, gpus: Sequence[Gpu], report: GpuReport, folder: Path
) -> BurstProcesses:
    """Start this node's ranks, each with its GPU: all of them, or none is left."""
    task = Task(
        burst.collective,
        burst.message_bytes,
        burst.iterations,
        burst.warmup_iterations,
        burst.ranks,
        burst.limit_seconds,
    )
    write_task(folder, task)
    if burst.unique_id:
        write_whole(folder / UNIQUE_ID, burst.unique_id)
    processes: list[Process] = []
    try:
        for place, gpu in enumerate(gpus):
            rank = burst.first_rank + place
            environment = {**visible(report, (gpu,)), "NCCL_DEBUG_FILE": str(log_file(folder, rank))}
            command = node.command((*node.rank_program, str(folder), str(rank)), burst, environment, at=place)
            processes.append(await node.host.start(command))
    except BaseException:
        await asyncio.gather(*(process.stop() for process in processes))
        raise
    return BurstProcesses(processes)


def made_unique_id(folder: Path) -> str:
    """Return the id that rank 0 made, as hexadecimal digits; empty while there is none."""
    file = folder / UNIQUE_ID
    return file.read_text().strip() if file.exists() else ""


def rank_outcomes(burst: BurstRequest, gpus: Sequence[Gpu], folder: Path, ends: Ends) -> tuple[RankOutcome, ...]:
    """Return what each rank left; its log is cut at LOG_LIMIT_BYTES."""
    return tuple(_outcome(burst.first_rank, place, gpu, folder, ends) for place, gpu in enumerate(gpus))


def read_report(folder: Path, rank: int) -> Report | None:
    """Return the rank's own report, or None where there is none to be read."""
    try:
        fields = json.loads(report_file(folder, rank).read_text())
        report = Report(**(fields | {"seconds": tuple(map(float, fields["seconds"]))}))
        sound = isinstance(report.message_bytes, int) and isinstance(report.wrong, int | None) and report.rank == rank
    except (OSError, ValueError, TypeError, KeyError):
        return None
    return report if sound else None


def read_log(file: Path) -> str:
    """Return the beginning of a log, where the connections stand; empty where there is none."""
    try:
        with file.open("rb") as log:
            return log.read(LOG_LIMIT_BYTES).decode(errors="replace")
    except OSError:
        return ""


def _outcome(first_rank: int, place: int, gpu: Gpu, folder: Path, ends: Ends) -> RankOutcome:
    rank, completed = first_rank + place, ends.completed[place]
    report = read_report(folder, rank)
    told = report or Report(rank)
    return RankOutcome(
        rank=rank,
        gpu_uuid=told.gpu_uuid or gpu.uuid,
        pci_address=told.pci_address or gpu.pci_address,
        ended=completed.ended,
        exit_status=completed.exit_status,
        seconds=told.seconds,
        message_bytes=told.message_bytes,
        wrong=told.wrong,
        debug_log=read_log(log_file(folder, rank)),
        stderr=completed.stderr,
        detail=_detail(first_rank, place, report, ends),
    )


def _detail(first_rank: int, place: int, report: Report | None, ends: Ends) -> str:
    completed = ends.completed[place]
    subject = f"rank {first_rank + place}"
    if report is not None and report.reason:
        return f"{report.reason}: {report.sentence}"
    if place in ends.ended_for_it and ends.first is not None:
        other = f"rank {first_rank + ends.first} ended with {how_ended(ends.completed[ends.first])}"
        return f"peer_ended: {subject} ended because {other}"
    if completed.ended is Ended.STOPPED:
        return f"stopped: {subject} ended when told to"
    if completed.ended is Ended.DEADLINE:
        return f"rank_hung: {subject} not done within {completed.seconds:.1f} s, {_last_words(completed)}"
    if completed.ended is Ended.NOT_STARTED or completed.exit_status != 0:
        return f"rank_died: {subject} ended with {how_ended(completed)}, {_last_words(completed)}"
    return "" if report is not None else f"result_unreadable: {subject} left no result, one wanted"


def how_ended(completed: Completed) -> str:
    """Return in words how a process came to its end."""
    if completed.exit_status is None or completed.ended is not Ended.EXIT:
        return completed.ended.value
    if completed.exit_status < 0:
        return f"signal {signal.Signals(-completed.exit_status).name}"
    return f"exit status {completed.exit_status}"


def _last_words(completed: Completed) -> str:
    lines = completed.stderr.strip().splitlines()
    return f"last heard: {lines[-1][-SAID_AT_MOST_CHARACTERS:]}" if lines else "nothing heard"
