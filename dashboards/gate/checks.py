"""The seven checks over time, by pool."""

from dashboards.frame import Row
from dashboards.gate.scope import SCOPE, select
from dashboards.looks import (
    COUNT,
    STATUS,
)
from dashboards.panels import Said, graph, timeline
from dashboards.queries import Query, each, titled, worst_status

PAST = select("rdma_gate_nodes", "pool")
GONE = titled(f"0 * {each('max', 'pool check', f'last_over_time({PAST}[1d])')} + 9", "pool")
ROW = Row(
    5,
    "The seven checks",
    9,
    [
        (
            24,
            timeline(
                Said(
                    6,
                    "The seven checks by pool",
                    "The worst status that any node of the pool has in each check. Pass, not "
                    "applicable and accepted are open; everything else closes the node. No data: the gate showed the "
                    "check within a day before, but does not now.",
                ),
                [Query(f"{worst_status(SCOPE)}\nor\n{GONE}", "{{pool}}: {{title}}")],
                STATUS,
            ),
        ),
        (
            12,
            graph(
                Said(7, "Open nodes", "Open nodes of each pool and, dashed, how many it needs."),
                [
                    Query(each("max", "pool", select("rdma_gate_pool_nodes", "pool", 'state="open"')), "{{pool}} open"),
                    Query(each("max", "pool", select("rdma_gate_pool_nodes_wanted", "pool")), "target {{pool}}"),
                ],
                COUNT,
            ),
        ),
        (
            12,
            graph(
                Said(
                    8,
                    "Nodes by state",
                    "All nodes that the plan expects, by what the gate makes of them; the bands add up to all.",
                ),
                [Query(each("max", "pool state", select("rdma_gate_pool_nodes", "pool")), "{{pool}} {{state}}")],
                COUNT,
                stacked=True,
            ),
        ),
    ],
)
