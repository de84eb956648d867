"""What all rows of this board share."""

from dashboards.looks import (
    Look,
)
from dashboards.queries import Scope, each

SCOPE = Scope(("cluster", "pool", "node"))
select = SCOPE.select
BAD_RUNS = 'outcome!="done"'
CORES = Look(unit="short", minimum=0)


def by_process(expression: str) -> str:
    """What a process says of itself, by the node that it runs on."""
    named = each("max", "job instance node", select("rdma_gate_node_info", "any_pool node"))
    own = each("max", "job instance", expression)
    return each("max", "node", f"{own}\n* on (cluster, job, instance) group_left (node)\n{named}")
