"""The paths from this node to its peers, against their targets."""

from dashboards.frame import Row
from dashboards.looks import (
    AGE_SHARE,
    BITS_PER_SECOND,
    COUNT,
    SECONDS,
    TARGET_SHARE,
)
from dashboards.node.scope import WORST, of_node
from dashboards.panels import Said, graph
from dashboards.queries import Query


def worst(metric: str, *matchers: str, operation: str = "max") -> str:
    """Return the metric by device and test."""
    return of_node(metric, "device id", *matchers, operation=operation)


TARGET = of_node("rdma_gate_target", "id", 'metric="bandwidth"')

LAST_RUN = of_node("rdma_gate_probe_last_run_timestamp_seconds", "probe id")
VALID = of_node("rdma_gate_probe_valid_seconds", "probe id")

ROW = Row(
    20,
    "Its paths",
    8,
    [
        (
            24,
            graph(
                Said(
                    21,
                    "Measured against the target",
                    "The median of the last runs over the target, turned so that under 100 % is missed; each "
                    "device by its worst peer. This is the number that gate and alerts judge.",
                ),
                [
                    Query(
                        of_node("rdma_gate_target_ratio", "device id metric quantile", 'group=""', operation="min"),
                        "{{device}} {{id}} {{metric}} {{quantile}}",
                    )
                ],
                TARGET_SHARE,
            ),
        ),
        (
            12,
            graph(
                Said(
                    22,
                    "Bandwidth",
                    "The last completed run of each test to the worst peer of each device, and the target.",
                ),
                [
                    Query(
                        f"8 * {worst('rdma_gate_write_bandwidth_bytes_per_second', WORST, operation='min')}",
                        "{{device}} {{id}}",
                    ),
                    Query(
                        f"8 * {worst('rdma_gate_send_bandwidth_bytes_per_second', WORST, operation='min')}",
                        "{{device}} {{id}}",
                    ),
                    Query(f"8 * {TARGET}", "target {{id}}"),
                ],
                BITS_PER_SECOND,
            ),
        ),
        (
            12,
            graph(
                Said(
                    23,
                    "Latency",
                    "Half round trip of writes (p50, p95) and whole round trip of the ping-pong, from the last "
                    "completed run to the worst peer of each device, and the targets.",
                ),
                [
                    Query(
                        of_node("rdma_gate_write_latency_seconds", "device id quantile"),
                        "{{device}} {{id}} p{{quantile}}",
                    ),
                    Query(worst("rdma_gate_ping_pong_round_trip_seconds", WORST), "{{device}} {{id}} round trip"),
                    Query(
                        of_node("rdma_gate_target", "id metric", 'metric=~"latency|round_trip"', 'group=""'),
                        "target {{id}} {{metric}}",
                    ),
                ],
                SECONDS,
            ),
        ),
        (
            12,
            graph(
                Said(
                    24,
                    "Lost and repeated packets",
                    "What the ports counted in the last path test to the worst peer of each device. Soft-RoCE "
                    "repeats packets in healthy runs too; lost ones are a fault anywhere.",
                ),
                [
                    Query(worst("rdma_gate_path_lost_packets"), "{{device}} {{id}} lost"),
                    Query(worst("rdma_gate_path_retries"), "{{device}} {{id}} repeated"),
                ],
                COUNT,
            ),
        ),
        (
            12,
            graph(
                Said(
                    25,
                    "Age of its results",
                    "The age of each probe's newest result as a share of the time for which it counts. From 100 % "
                    "on it is stale and its check closes.",
                ),
                [
                    Query(
                        f"(time() - {LAST_RUN})\n/ on (cluster, probe, id)\n({VALID} > 0)",
                        "{{id}}",
                    ),
                ],
                AGE_SHARE,
            ),
        ),
    ],
)
