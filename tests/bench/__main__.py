"""``make bench``: what a scrape, an idle node and a start cost, beside named peers, in one run under five minutes."""

import contextlib
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.bench import gate_loop, idle, imports, kubernetes_nodes, kubernetes_patches, scrape, start
from tests.bench.figures import Figure, show

NICENESS = -15
SECTIONS: dict[str, Callable[[Path], Iterator[Figure]]] = {
    "scrape": scrape.figures,
    "start": start.figures,
    "imports": imports.figures,
    "gate": gate_loop.figures,
    "idle": idle.figures,
    "kubernetes": kubernetes_nodes.figures,
    "conditions": kubernetes_patches.figures,
}


def main(chosen: list[str]) -> int:
    """Run the sections named, or all; exit 1 where a goal is missed, 64 for a section that is not there."""
    if unknown := set(chosen) - SECTIONS.keys():
        print(f"{', '.join(sorted(unknown))}: no such section, of {', '.join(SECTIONS)} wanted", file=sys.stderr)
        return 64
    found: list[Figure] = []
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores, niceness {_take_precedence()} for every program")
    with tempfile.TemporaryDirectory(prefix="rdma-gate-bench-") as folder:
        for name in chosen or SECTIONS:
            print(f"\n{name}", flush=True)
            for figure in SECTIONS[name](Path(folder)):
                found.append(figure)
                print(show(figure), flush=True)
    missed = [figure.what for figure in found if figure.met is False]
    print(f"\n{len(missed)} goals missed{': ' if missed else ''}{', '.join(missed)}")
    return bool(missed)


def _take_precedence() -> int:
    # On a machine that others use too, wall clock would mostly tell how busy they are.
    with contextlib.suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, 0, NICENESS)
    return os.getpriority(os.PRIO_PROCESS, 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
