"""The Fabric board: how the paths perform against their targets, where they do worst, and how the rails compare."""

from dashboards.fabric import collectives, counters, over_time, rails, worst
from dashboards.fabric.scope import SCOPE
from dashboards.frame import Board

BOARD = Board(
    "fabric",
    "RDMA fabric",
    "Bandwidth and latency of paths and collectives against their targets, the worst of them, the rails side by side.",
    SCOPE,
    [worst.ROW, over_time.ROW, collectives.ROW, rails.ROW, counters.ROW],
    span="now-24h",
)
