"""The gate itself: does it decide, from usable files, having heard from its nodes."""

from dashboards.frame import Row
from dashboards.gate.scope import AGE, LEADERS, select
from dashboards.looks import (
    BAD,
    GOOD,
    PAUSED,
    YES,
    Look,
    limits,
)
from dashboards.panels import Said, graph, tile
from dashboards.queries import Query, each, or_no_data

LEADER = or_no_data(
    each("sum", "", each("max", "job instance", select("rdma_gate_leader"))), select("rdma_gate_leader"), ""
)
HEARD = each("max", "pool node", select("rdma_gate_node_last_report_timestamp_seconds", "pool"))

ROW = Row(
    15,
    "The gate itself",
    5,
    [
        (
            4,
            tile(
                Said(16, "Last verdict", "How long ago the gate last decided; every second is usual."),
                [
                    Query(
                        f"time() - {each('max', '', select('rdma_gate_decided_timestamp_seconds'))}",
                        "Age {{cluster}}",
                    )
                ],
                Look(unit="s", steps=AGE.steps, no_value="never, or no gate answers"),
            ),
        ),
        (
            4,
            tile(
                Said(
                    17,
                    "Gates that lead",
                    "One is right. None: nobody decides. Two: they are about to find out, and the closed one counts.",
                ),
                [Query(LEADER, "Leaders {{cluster}}")],
                LEADERS,
            ),
        ),
        (
            5,
            tile(
                Said(
                    18,
                    "Plan and decisions usable",
                    "Whether each file was of use when it was last read; if not, the gate goes by what it read before.",
                ),
                [Query(each("min", "file", select("rdma_gate_config_last_reload_successful")), "{{file}}")],
                YES,
            ),
        ),
        (
            5,
            tile(
                Said(
                    19,
                    "Tests",
                    "Whether somebody has paused the tests of the gate; results then lapse one after the other.",
                ),
                [Query(each("max", "scope", select("rdma_gate_paused", "", 'scope="gate"')), "{{scope}}")],
                PAUSED,
            ),
        ),
        (
            6,
            graph(
                Said(
                    20,
                    "Longest silence of a node",
                    "How long ago the gate last heard from the quietest node of each pool; from 60 s on the "
                    "node counts as silent.",
                ),
                [
                    Query(
                        f"time() - {each('min', 'pool', HEARD)}",
                        "{{pool}}",
                    )
                ],
                Look(unit="s", minimum=0, steps=limits((0, GOOD), (60, BAD))),
            ),
        ),
    ],
)
