"""Is it safe, and where is it not: the first thing on the screen."""

from dashboards.frame import NODE_LINK, Row
from dashboards.gate.scope import GATE_OPEN, NO_GATE, POOL_OPEN, REASONS, SEEN_POOLS, as_reason, select
from dashboards.looks import (
    STATUS_WORD,
    Look,
)
from dashboards.panels import Column, Said, listing, tile
from dashboards.queries import Query, or_no_data

LOST = f"({SEEN_POOLS} unless on (cluster, pool) ({POOL_OPEN}))"
NONE = f"absent({select('rdma_gate_decided_timestamp_seconds')})"
ROW = Row(
    1,
    "Is it safe, and where is it not?",
    7,
    [
        (
            5,
            tile(
                Said(
                    2,
                    "Gate",
                    "OPEN only while every pool is open and a gate has decided within the last minute. A gate that is "
                    "gone or stuck shows that nothing is known; of two gates that contradict each other the "
                    "closed one counts.",
                ),
                [Query(or_no_data(GATE_OPEN, select("rdma_gate_open"), ""), "Gate {{cluster}}")],
                NO_GATE,
            ),
        ),
        (
            5,
            tile(
                Said(3, "Pools", "A pool is open when as many of its nodes are open as its plan wants."),
                [Query(or_no_data(POOL_OPEN, select("rdma_gate_pool_open", "pool"), "pool"), "{{pool}}")],
                NO_GATE,
            ),
        ),
        (
            14,
            listing(
                Said(
                    4,
                    "What is closed, and why",
                    "Each closed check of each node: its status, the first reason, and who mends it. "
                    "A click on a node leads to its board. Empty only when no check is closed; a pool that "
                    "no gate decides about has a line that says so.",
                ),
                Query(f"{REASONS}\nor\n{as_reason(LOST)}\nor\n{as_reason(NONE)}"),
                [
                    Column("pool", "Pool"),
                    Column("node", "Node", link=NODE_LINK),
                    Column("check", "Check"),
                    Column("status", "Status", STATUS_WORD),
                    Column("reason", "Reason"),
                    Column("owner", "Who mends it"),
                ],
                Look(no_value="no check is closed, as far as the gate at the left knows"),
            ),
        ),
    ],
)
