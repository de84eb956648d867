"""The Node board: everything that is known about one node, what is wrong first."""

from dashboards.frame import Board
from dashboards.node import cost, gpus, paths, ports, runtime, verdict
from dashboards.node.scope import SCOPE

BOARD = Board(
    "node",
    "RDMA node",
    "Everything that is known about one node: what the gate makes of it, ports, runtime, GPUs, paths, cost.",
    SCOPE,
    [verdict.ROW, ports.ROW, runtime.ROW, gpus.ROW, paths.ROW, cost.ROW],
)
