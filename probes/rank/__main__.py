"""``python -m probes.rank DIRECTORY RANK``: run that rank of the burst whose task lies in the directory.

Exit status 0 when the rank has run (its report says how, wrong data included), 10 to 16 for the failures that
``probes.rank.failure`` names, 64 for wrong usage.
"""

import ctypes
import math
import signal
import sys
from pathlib import Path

from probes.rank.burst import run
from probes.rank.failure import EXIT_STATUS, RankFailure
from probes.rank.task import Report, Task, read_task, write_report

USAGE = 64
DIE_WITH_PARENT = 1
AFTER_LIMIT_SECONDS = 5


def main(arguments: list[str]) -> int:
    """Run the rank and return its exit status."""
    try:
        directory, rank = Path(arguments[0]), int(arguments[1])
        task = read_task(directory)
    except (IndexError, ValueError, TypeError, KeyError, OSError) as error:
        sys.stderr.write(f"rank: {error!r} found, DIRECTORY with a task and RANK wanted\n")
        return USAGE
    _end_in_any_case(task)
    try:
        run(directory, rank, task)
    except RankFailure as failure:
        sentence = f"rank {rank}: {failure.sentence}"
        sys.stderr.write(f"{sentence}\n")
        write_report(directory, Report(rank, reason=failure.reason, sentence=sentence))
        return EXIT_STATUS[failure.reason]
    return 0


def _end_in_any_case(task: Task) -> None:
    """A rank that waits inside NCCL for a peer that is gone would keep its GPU for ever, had nobody else ended it."""
    ctypes.CDLL(None).prctl(DIE_WITH_PARENT, signal.SIGKILL)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(math.ceil(task.limit_seconds) + AFTER_LIMIT_SECONDS)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
