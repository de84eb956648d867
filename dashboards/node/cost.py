"""What testing costs the node."""

from dashboards.frame import Row
from dashboards.looks import (
    BAD,
    BITS_PER_SECOND,
    GOOD,
    Look,
    limits,
)
from dashboards.node.scope import RUNNING, select
from dashboards.panels import Said, graph, tile
from dashboards.queries import Query, each

SENT = f"rate({select('rdma_gate_test_bytes_total', 'node')}[$__rate_interval])"
ROW = Row(
    26,
    "What testing costs it",
    6,
    [
        (
            12,
            graph(
                Said(27, "Test traffic", "Payload that tests sent and received."),
                [Query(f"8 * {each('max', 'direction', SENT)}", "{{direction}}")],
                BITS_PER_SECOND,
            ),
        ),
        (
            6,
            tile(
                Said(28, "Tests running", "Tests that run on this node now."),
                [Query(each("max", "", select("rdma_gate_tests_outstanding", "node")), "running")],
                RUNNING,
            ),
        ),
        (
            6,
            tile(
                Said(29, "Budget left", "Bytes that tests may still send and receive on this node now."),
                [Query(each("max", "", select("rdma_gate_test_budget_left_bytes", "node")), "left")],
                Look(unit="bytes", steps=limits((0, BAD), (1, GOOD)), no_value="nothing was tested yet"),
            ),
        ),
    ],
)
