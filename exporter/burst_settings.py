"""``bursts:`` in ``rdma-gate.yaml``: how this node runs the ranks of collectives. Nothing has to be said."""

import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

from exporter.document import Mistake
from probes._burst_environment import own_problems
from probes._burst_settings import BurstSettings

CPUS_AT_MOST = 4096
CPU_RANGE = re.compile(r"([0-9]+)(?:-([0-9]+))?")
NICENESS = range(20)


class BurstsFile(msgspec.Struct, frozen=True):
    """The keys of the file, with what holds when they are absent. ``cpus`` is a list as the kernel writes it."""

    nccl_tests: str = ""
    environment: dict[str, str] = {}
    cpus: str = ""
    niceness: int = 10
    python: str = ""


def bursts_mistakes(file: BurstsFile) -> Iterator[Mistake]:
    """Yield what is wrong in it."""
    for problem in own_problems(file.environment):
        yield Mistake(("bursts", "environment"), problem.removeprefix("environment: "))
    if file.niceness not in NICENESS:
        yield Mistake(("bursts", "niceness"), f"{file.niceness} found, {NICENESS.start} to {NICENESS.stop - 1} wanted")
    try:
        cpu_list(file.cpus)
    except ValueError as error:
        yield Mistake(("bursts", "cpus"), str(error))


def burst_settings(file: BurstsFile, base: Path) -> BurstSettings:
    """Return the settings; a relative directory starts at ``base``."""
    directory = base / Path(file.nccl_tests).expanduser() if file.nccl_tests else None
    return BurstSettings(directory, file.environment, cpu_list(file.cpus), file.niceness, file.python)


def cpu_list(text: str) -> frozenset[int]:
    """Return the processors of ``0-3,8``; none for an empty text. ValueError."""
    cpus: set[int] = set()
    for part in text.replace(" ", "").split(",") if text.strip() else ():
        found = CPU_RANGE.fullmatch(part)
        last = int(found[2] or found[1]) if found else CPUS_AT_MOST
        if not found or last >= CPUS_AT_MOST:
            raise ValueError(f"{text!r} found, processors as in 0-3,8 wanted")
        cpus.update(range(int(found[1]), last + 1))
    return frozenset(cpus)
