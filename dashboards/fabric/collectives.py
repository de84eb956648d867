"""Collectives: how fast, over what, and with what results; and GPU memory beside host memory on the same paths."""

from dashboards.fabric.scope import PATH, WORST, at_least, bandwidth, select
from dashboards.frame import NODE_LINK, Row
from dashboards.looks import (
    BITS_PER_SECOND,
    BYTES_PER_SECOND,
    NONE_WANTED,
    SECONDS,
    SHARE,
    TARGET_SHARE,
    TRANSPORT,
    TRANSPORT_CODES,
    Look,
)
from dashboards.panels import Column, Said, graph, listing, timeline
from dashboards.queries import Query, coded, each, or_no_data

GROUP = "pool node"
OF_RANK_0 = " A group counts as being on the node of its rank 0."
BUS = select("rdma_gate_collective_bus_bandwidth_bytes_per_second", GROUP)
LATENCY = select("rdma_gate_collective_latency_seconds", GROUP)
PROVEN = "rdma_gate_collective_transport"
OVER = each(
    "max",
    "pool id",
    coded(
        TRANSPORT_CODES,
        lambda transport: each("max", "pool id transport", select(PROVEN, GROUP, f'transport="{transport}"')),
    ),
)
RATIO = each("min", "pool node group id metric quantile", select("rdma_gate_target_ratio", PATH, 'group!=""'))


def wanted(operation: str, metric: str, labels: str) -> str:
    """Return what each collective must reach, or may take, in base units."""
    return each(operation, labels, select("rdma_gate_target", PATH, 'group!=""', f'metric="{metric}"'))


ROW = Row(
    30,
    "Collectives",
    8,
    [
        (
            12,
            graph(
                Said(
                    31,
                    "Bus bandwidth, worst group and median",
                    "As nccl-tests counts it, by the median iteration of each group's last clean run; dashed the "
                    "target. How fast says nothing about the transport beside it." + OF_RANK_0,
                ),
                [
                    Query(each("min", "id collective", BUS), "worst {{id}} {{collective}}"),
                    Query(f"quantile by (cluster, id) (0.5, {each('max', 'id node group', BUS)})", "median {{id}}"),
                    Query(wanted("max", "bus_bandwidth", "id"), "target {{id}}"),
                ],
                BYTES_PER_SECOND,
            ),
        ),
        (
            12,
            timeline(
                Said(
                    32,
                    "Transport proven",
                    "The worst over which any group of the pool ran, by the logs of all its ranks. Only RDMA or EFA "
                    "with GPUDirect pass between nodes. No data: it was shown within a day before, but is not now."
                    + OF_RANK_0,
                ),
                [Query(or_no_data(OVER, select(PROVEN, GROUP), "pool id"), "{{pool}} {{id}}")],
                TRANSPORT,
            ),
        ),
        (
            12,
            graph(
                Said(
                    33,
                    "Time of an iteration, worst group",
                    "Exact quantiles of each group's last clean run, of which an iteration is as long as its slowest "
                    "rank's; p95 from 20 iterations on, p99 from 1,000; dashed the target." + OF_RANK_0,
                ),
                [
                    Query(each("max", "id collective quantile", LATENCY), "{{id}} {{collective}} p{{quantile}}"),
                    Query(wanted("min", "latency", "id quantile"), "target {{id}} p{{quantile}}"),
                ],
                SECONDS,
            ),
        ),
        (
            12,
            graph(
                Said(
                    34,
                    "Wrong elements",
                    "Elements with another value than expected, over all ranks of a group's last run. Any is corrupt "
                    "data." + OF_RANK_0,
                ),
                [
                    Query(
                        each("max", "id collective", select("rdma_gate_collective_wrong_elements", GROUP)),
                        "{{id}} {{collective}}",
                    )
                ],
                NONE_WANTED,
            ),
        ),
        (
            24,
            listing(
                Said(
                    35,
                    "Groups furthest below or nearest to target",
                    "The twenty groups with the smallest ratio of measured to wanted, turned so that under 100 % is "
                    "missed: the median of the last runs.",
                ),
                Query(f"bottomk by (cluster) (20, {RATIO})"),
                [
                    Column("pool", "Pool"),
                    Column("group", "Group"),
                    Column("node", "Rank 0 on", link=NODE_LINK),
                    Column("id", "Test"),
                    Column("metric", "Metric"),
                    Column("quantile", "Quantile"),
                    Column("Value", "Of the target", TARGET_SHARE),
                ],
                Look(unit="percentunit", no_value="no collective was measured against a target"),
            ),
        ),
        (
            12,
            graph(
                Said(
                    36,
                    "GPU write bandwidth, worst device",
                    "RDMA writes from GPU memory to GPU memory, from the last completed runs; dashed the target.",
                ),
                [
                    Query(bandwidth("rdma_gate_gpu_write_bandwidth_bytes_per_second", "min", "id", WORST), "{{id}}"),
                    Query(at_least("transfers.gpu_write_bandwidth"), "target {{id}}"),
                ],
                BITS_PER_SECOND,
            ),
        ),
        (
            12,
            graph(
                Said(
                    37,
                    "GPU memory against host memory",
                    "Bandwidth between GPU memories over that between host memories on the same path, worst device. "
                    "Far below 100 % hints at host memory on the way; near it proves nothing.",
                ),
                [
                    Query(
                        each("min", "rail id", select("rdma_gate_gpu_write_bandwidth_host_share", PATH)),
                        "rail {{rail}} {{id}}",
                    )
                ],
                SHARE,
            ),
        ),
    ],
)
