"""The Probes board: what the exporter itself costs, how its probes run, and what was not tested."""

from dashboards.frame import Board
from dashboards.probes import processes, runs, tests
from dashboards.probes.scope import SCOPE

BOARD = Board(
    "probes",
    "RDMA probes",
    "What the exporter itself costs, how its probes run, what tests send, and what was not tested.",
    SCOPE,
    [processes.ROW, runs.ROW, tests.ROW],
)
