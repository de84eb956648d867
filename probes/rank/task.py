"""What passes between a rank and its node: files in the burst's own directory, each written whole or not at all."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from probes._group import Collective

TASK = "task.json"
UNIQUE_ID = "unique_id"
UNIQUE_ID_BYTES = 128


@dataclass(frozen=True, slots=True)
class Task:
    """What all ranks of a burst do. ``limit_seconds`` is wall clock."""

    collective: Collective
    message_bytes: int
    iterations: int
    warmup_iterations: int
    ranks: int
    limit_seconds: float


@dataclass(frozen=True, slots=True)
class Report:
    """What a rank says of itself. ``reason`` is empty when all went well, else a code of ``failure``."""

    rank: int
    gpu_uuid: str = ""
    pci_address: str = ""
    nccl_version: str = ""
    message_bytes: int = 0
    seconds: tuple[float, ...] = ()
    wrong: int | None = None
    reason: str = ""
    sentence: str = ""


def report_file(directory: Path, rank: int) -> Path:
    """Where a rank leaves its report."""
    return directory / f"rank-{rank}.json"


def log_file(directory: Path, rank: int) -> Path:
    """Where NCCL writes what it does in that rank."""
    return directory / f"nccl-{rank}.log"


def write_task(directory: Path, task: Task) -> None:
    """Leave the task for the ranks."""
    write_whole(directory / TASK, json.dumps(asdict(task)))


def read_task(directory: Path) -> Task:
    """Read the task. ValueError, TypeError or OSError for one that is none."""
    fields = json.loads((directory / TASK).read_text())
    return Task(**(fields | {"collective": Collective(fields["collective"])}))


def write_report(directory: Path, report: Report) -> None:
    """Leave the report for the node."""
    write_whole(report_file(directory, report.rank), json.dumps(asdict(report)))


def write_whole(path: Path, text: str) -> None:
    """Write a file so that nobody ever reads half of it."""
    draft = path.with_suffix(".new")
    draft.write_text(text)
    draft.rename(path)
