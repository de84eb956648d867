"""nccl-tests on one node: which program, what this version can do, and what its one process says of all ranks."""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from probes import ProbeError
from probes._burst_gpus import visible
from probes._burst_node import BurstNode
from probes._burst_processes import BurstProcesses, Ends
from probes._burst_ranks import how_ended, read_log
from probes._endpoint import Ended
from probes._group import BurstRequest, RankOutcome
from probes._host import Command
from probes.readers.gpu import Gpu, GpuReport
from probes.tools.nccl_tests import CollectiveReport, read_nccl_tests, without_secrets
from probes.tools.nccl_tests_argv import PROGRAMS, nccl_tests_argv, options_of

HELP_LIMIT_SECONDS = 20.0
REPORT = "report.json"
LOG = "nccl.log"
REPORT_LIMIT_BYTES = 4 << 20


async def start_tests(
    node: BurstNode, burst: BurstRequest, gpus: Sequence[Gpu], report: GpuReport, folder: Path
) -> tuple[BurstProcesses, tuple[str, ...]]:
    """Start the program that has all ranks, and return it with its argv. Raises ProbeError tool_missing."""
    program = _program(node, burst)
    seen = visible(report, tuple(gpus))
    helped = await node.host.run(Command((program, "--help"), HELP_LIMIT_SECONDS, environment=seen))
    options = options_of(helped.stdout + helped.stderr)
    argv = nccl_tests_argv(burst, program=program, options=options, report=str(folder / REPORT))
    environment = {**seen, "NCCL_DEBUG_FILE": str(folder / LOG)}
    process = await node.host.start(node.command(argv, burst, environment, at=0))
    return BurstProcesses((process,)), argv


def tests_stdout(folder: Path, ends: Ends) -> str:
    """Return the table, and the JSON report after it where the program wrote one; without the environment's secrets."""
    report = without_secrets(_report_text(folder))
    return ends.completed[0].stdout + (f"\n{report}\n" if report else "")


def read_tests(folder: Path, ends: Ends) -> CollectiveReport:
    """Return what the program reported, by its JSON where it wrote one."""
    return read_nccl_tests(_report_text(folder) or ends.completed[0].stdout)


def tests_outcomes(burst: BurstRequest, gpus: Sequence[Gpu], folder: Path, ends: Ends) -> tuple[RankOutcome, ...]:
    """Return one outcome a rank. The program tells of all ranks together; its log and errors stand with the first."""
    completed = ends.completed[0]
    report, detail = read_tests(folder, ends), _detail(ends)
    row = report.rows[-1] if report.rows else None
    timing = row.timing if row else None
    return tuple(
        RankOutcome(
            rank=burst.first_rank + place,
            gpu_uuid=gpu.uuid,
            pci_address=gpu.pci_address,
            ended=completed.ended,
            exit_status=completed.exit_status,
            seconds=tuple(map(float, timing.samples_seconds)) if timing else (),
            message_bytes=row.size_bytes if row else 0,
            wrong=report.wrong,
            debug_log="" if place else read_log(folder / LOG),
            stderr="" if place else completed.stderr,
            detail=detail,
        )
        for place, gpu in enumerate(gpus)
    )


def _program(node: BurstNode, burst: BurstRequest) -> str:
    name, directory = PROGRAMS[burst.collective], node.settings.nccl_tests
    found = shutil.which(name, path=str(directory) if directory else node.search_path or os.defpath)
    if found is None:
        where = directory or "the path"
        raise ProbeError("tool_missing", f"{node.name}: {name} not found in {where}, it is needed")
    return found


def _report_text(folder: Path) -> str:
    try:
        with (folder / REPORT).open("rb") as file:
            return file.read(REPORT_LIMIT_BYTES).decode(errors="replace")
    except OSError:
        return ""


def _detail(ends: Ends) -> str:
    completed = ends.completed[0]
    if completed.ended is Ended.EXIT and completed.exit_status == 0:
        return ""
    reason = {Ended.DEADLINE: "rank_hung", Ended.STOPPED: "stopped"}.get(completed.ended, "rank_died")
    return f"{reason}: {Path(completed.argv[0]).name} ended with {how_ended(completed)} after {completed.seconds:.1f} s"
