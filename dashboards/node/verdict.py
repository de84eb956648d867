"""What the gate makes of the node."""

from dashboards.frame import Row
from dashboards.looks import (
    STATUS,
    STATUS_WORD,
    Look,
)
from dashboards.node.scope import NODE_OPEN, SCOPE, SILENCE, of_node, select
from dashboards.panels import Column, Said, listing, tile, timeline
from dashboards.queries import Query, each, fresh_verdict, ranked, titled

STATES = ranked(lambda status: of_node("rdma_gate_check_status", "check status", f'status="{status}"'))
OK = f"8 * (1 - {of_node('rdma_gate_check_ok', 'check', operation='min')})"
PAST = select("rdma_gate_check_ok", "pool node")
GONE = titled(f"0 * {each('max', 'check', f'last_over_time({PAST}[1d])')} + 9", "")
CURRENT = titled(each("max", "check", f"{STATES}\nor on (cluster, check)\n{OK}"), "")
ROW = Row(
    1,
    "What the gate makes of it",
    6,
    [
        (
            4,
            tile(
                Said(2, "Node", "OPEN only while all seven checks are."),
                [Query(fresh_verdict(of_node("rdma_gate_node_open", operation="min"), SCOPE), "$node")],
                NODE_OPEN,
            ),
        ),
        (
            4,
            tile(
                Said(
                    3,
                    "Last heard",
                    "How long ago the gate last heard from the node; from 60 s on it counts as silent.",
                ),
                [Query(f"time() - {of_node('rdma_gate_node_last_report_timestamp_seconds')}", "$node")],
                SILENCE,
            ),
        ),
        (
            16,
            timeline(
                Said(
                    4,
                    "The seven checks",
                    "The status of each check of this node. No data: the gate showed it within a day before, but "
                    "does not now.",
                ),
                [Query(f"{CURRENT}\nor\n{GONE}", "{{title}}")],
                STATUS,
            ),
        ),
        (
            12,
            listing(
                Said(5, "Closed checks", "Each check that is not open, its first reason, and who mends it."),
                Query(of_node("rdma_gate_check_reason", "check status reason owner")),
                [
                    Column("check", "Check"),
                    Column("status", "Status", STATUS_WORD),
                    Column("reason", "Reason"),
                    Column("owner", "Who mends it"),
                ],
                Look(no_value="no check is closed, or no gate answers"),
            ),
        ),
        (
            12,
            listing(
                Said(
                    6,
                    "Findings that do not pass",
                    "What the probes of this node found and its path tests met, whether or not the gate counts "
                    "it. The list is capped in the program.",
                ),
                Query(of_node("rdma_gate_failure", "probe device port peer resource reason owner")),
                [
                    Column("probe", "Probe"),
                    Column("device", "Device"),
                    Column("port", "Port"),
                    Column("peer", "Peer"),
                    Column("resource", "Resource"),
                    Column("reason", "Reason"),
                    Column("owner", "Who mends it"),
                ],
                Look(no_value="no finding, or the node is not scraped"),
            ),
        ),
    ],
)
