"""A typed request becomes the command line of one of nccl-tests' programs, for all ranks within one node.

Programs started under MPI are not ours to start: ``rdma-gate judge nccl-tests`` reads what they print.
"""

import math
import re

from probes._group import BurstRequest, Collective

PROGRAMS = {
    Collective.ALL_REDUCE: "all_reduce_perf",
    Collective.ALL_GATHER: "all_gather_perf",
    Collective.REDUCE_SCATTER: "reduce_scatter_perf",
    Collective.ALLTOALL: "alltoall_perf",
    Collective.SENDRECV: "sendrecv_perf",
}
OPTION = re.compile(r"\[(-[A-Za-z]),--")


def options_of(help_text: str) -> frozenset[str]:
    """Return the short options that a version's ``--help`` names, as ``-J``."""
    return frozenset(OPTION.findall(help_text))


def nccl_tests_argv(burst: BurstRequest, *, program: str, options: frozenset[str], report: str = "") -> tuple[str, ...]:
    """Return the argv: one size, one process, a GPU a rank, checked data.

    ``-I`` (times of each iteration, since 2.19.2) and ``-J`` with the ``report`` file (JSON, since 2.17.6) are asked
    for where ``options`` has them, and so is ``-T``, the program's own limit.
    """
    size, limit = f"{burst.message_bytes}", f"{math.ceil(burst.limit_seconds)}"
    wanted = {
        "-b": size,
        "-e": size,
        "-g": f"{burst.ranks_here}",
        "-d": "float",
        "-c": "1",
        "-n": f"{burst.iterations}",
        "-w": f"{burst.warmup_iterations}",
    }
    optional = {"-T": limit, "-I": "1", "-J": report}
    wanted |= {option: value for option, value in optional.items() if value and option in options}
    return (program, *(word for pair in wanted.items() for word in pair))
