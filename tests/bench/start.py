"""How long it takes from the start of the process to the first answered scrape."""

import statistics
from collections.abc import Iterator
from pathlib import Path

from tests.bench.figures import Figure
from tests.bench.recorded_node import write_settings
from tests.bench.server import python, running

STARTS = 5
GOAL_SECONDS = 1.0


def figures(folder: Path) -> Iterator[Figure]:
    """Yield the median of a few starts, the node role alone and with the gate role."""
    for roles in (("node",), ("node", "gate")):
        home = folder / "-".join(("start", *roles))
        _start_seconds(home, roles)
        seconds = [_start_seconds(home, roles) for _ in range(STARTS)]
        note = f"median of {STARTS}, {min(seconds):.2f} to {max(seconds):.2f}, after one to fill the caches"
        what = f"start to first /metrics, {' and '.join(roles)}"
        yield Figure(what, statistics.median(seconds), "s", GOAL_SECONDS, note=note)


def _start_seconds(home: Path, roles: tuple[str, ...]) -> float:
    config, port = write_settings(home, roles)
    argv = python("exporter", "--config", config, "serve")
    with running(argv, port, log=home / "serve.log") as server:
        return server.first_answer_seconds
