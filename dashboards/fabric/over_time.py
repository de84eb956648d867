"""Bandwidth and latency over time, with their targets."""

from dashboards.fabric.scope import DEVICE, MEDIAN, P95, PATH, SPREAD, WORST, at_least, at_most, bandwidth, select
from dashboards.frame import Row
from dashboards.looks import BITS_PER_SECOND, SECONDS
from dashboards.panels import Said, graph, spread
from dashboards.queries import Query, each

EACH_DEVICE = bandwidth("rdma_gate_write_bandwidth_bytes_per_second", "max", DEVICE, MEDIAN)

ROW = Row(
    4,
    "Bandwidth and latency over time",
    8,
    [
        (
            12,
            spread(
                Said(5, "Write bandwidth", "How the devices' write bandwidth is spread." + SPREAD),
                Query(
                    bandwidth("rdma_gate_write_bandwidth_bytes_per_second", "min", DEVICE),
                    "{{node}} {{device}} {{id}}",
                ),
                BITS_PER_SECOND,
            ),
        ),
        (
            12,
            spread(
                Said(
                    6,
                    "Write latency, p95",
                    "How the devices' 95th percentile of the write latency is spread." + SPREAD,
                ),
                Query(each("max", DEVICE, P95), "{{node}} {{device}} {{id}}"),
                SECONDS,
            ),
        ),
        (
            12,
            graph(
                Said(
                    7,
                    "Write bandwidth, worst device and median",
                    "The worst device, and the median over all devices of what each reaches with its peers, from "
                    "their last completed runs; dashed the target.",
                ),
                [
                    Query(bandwidth("rdma_gate_write_bandwidth_bytes_per_second", "min", "id"), "worst {{id}}"),
                    Query(
                        f"quantile by (cluster, id) (0.5, {EACH_DEVICE})",
                        "median {{id}}",
                    ),
                    Query(at_least("transfers.write_bandwidth"), "target {{id}}"),
                ],
                BITS_PER_SECOND,
            ),
        ),
        (
            12,
            graph(
                Said(
                    8,
                    "Write latency, worst device and median",
                    "The 95th percentile of the worst device, and the median over all devices, from their last "
                    "completed runs; dashed the target.",
                ),
                [
                    Query(each("max", "id", P95), "worst {{id}}"),
                    Query(f"quantile by (cluster, id) (0.5, {each('max', DEVICE, P95)})", "median {{id}}"),
                    Query(at_most("latency"), "target {{id}}"),
                ],
                SECONDS,
            ),
        ),
        (
            12,
            graph(
                Said(
                    9,
                    "Send bandwidth, worst device",
                    "Two-sided sends of the connectivity check, from the last completed runs; dashed the target.",
                ),
                [
                    Query(bandwidth("rdma_gate_send_bandwidth_bytes_per_second", "min", "id"), "worst {{id}}"),
                    Query(at_least("connectivity.send_bandwidth"), "target {{id}}"),
                ],
                BITS_PER_SECOND,
            ),
        ),
        (
            12,
            graph(
                Said(
                    10,
                    "Ping-pong round trip, worst device",
                    "The worst of the last completed runs; dashed the target.",
                ),
                [
                    Query(
                        each("max", "id", select("rdma_gate_ping_pong_round_trip_seconds", PATH, WORST)),
                        "worst {{id}}",
                    ),
                    Query(at_most("round_trip"), "target {{id}}"),
                ],
                SECONDS,
            ),
        ),
    ],
)
