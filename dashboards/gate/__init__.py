"""The Gate board: is it safe, where is it not, and how long will that hold."""

from dashboards.frame import Board
from dashboards.gate import checks, holding, itself, safe
from dashboards.gate.scope import SCOPE

BOARD = Board(
    "gate",
    "RDMA gate",
    "Whether the cluster's RDMA is ready, where it is not and why, and how long that will hold.",
    SCOPE,
    [safe.ROW, checks.ROW, holding.ROW, itself.ROW],
)
