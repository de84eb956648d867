"""The rails side by side."""

from dashboards.fabric.scope import P95, bandwidth, select
from dashboards.frame import Row
from dashboards.looks import BITS_PER_SECOND, COUNT, SECONDS
from dashboards.panels import Said, graph
from dashboards.queries import Query, each

ROW = Row(
    11,
    "Rails side by side",
    8,
    [
        (
            8,
            graph(
                Said(
                    12,
                    "Write bandwidth by rail",
                    "The worst device of each rail. A rail below its sisters points at its switches.",
                ),
                [
                    Query(
                        bandwidth("rdma_gate_write_bandwidth_bytes_per_second", "min", "rail id"),
                        "rail {{rail}} {{id}}",
                    )
                ],
                BITS_PER_SECOND,
            ),
        ),
        (
            8,
            graph(
                Said(13, "Write latency by rail, p95", "The worst device of each rail."),
                [Query(each("max", "rail id", P95), "rail {{rail}} {{id}}")],
                SECONDS,
            ),
        ),
        (
            8,
            graph(
                Said(
                    14,
                    "Paths by rail and state",
                    "All paths that the plan wants tested, by the state of their last result. What is not pass is "
                    "not verified.",
                ),
                [
                    Query(
                        each(
                            "sum",
                            "rail state",
                            each("max", "pool class rail state", select("rdma_gate_paths", "pool rail")),
                        ),
                        "rail {{rail}} {{state}}",
                    ),
                ],
                COUNT,
                stacked=True,
            ),
        ),
    ],
)
