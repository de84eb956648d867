"""The paths that do worst, and those that fail."""

from dashboards.fabric.scope import DEVICE, PATH, select
from dashboards.frame import NODE_LINK, Row
from dashboards.looks import TARGET_SHARE, Look
from dashboards.panels import Column, Said, listing
from dashboards.queries import Query, each

RATIO = each("min", f"{DEVICE} metric quantile", select("rdma_gate_target_ratio", PATH, 'group=""'))
FAILING = each(
    "max", "node device peer peer_device probe reason owner", select("rdma_gate_failure", "pool node", 'peer!=""')
)
ROW = Row(
    1,
    "The worst paths",
    8,
    [
        (
            12,
            listing(
                Said(
                    2,
                    "Furthest below or nearest to the target",
                    "The twenty devices and tests with the smallest ratio of measured to wanted, turned so that "
                    "under 100 % is missed: the median of the last runs to the worst peer.",
                ),
                Query(f"bottomk by (cluster) (20, {RATIO})"),
                [
                    Column("node", "Node", link=NODE_LINK),
                    Column("device", "Device"),
                    Column("rail", "Rail"),
                    Column("class", "Class"),
                    Column("id", "Test"),
                    Column("metric", "Metric"),
                    Column("quantile", "Quantile"),
                    Column("Value", "Of the target", TARGET_SHARE),
                ],
                Look(unit="percentunit", no_value="no path was measured against a target"),
            ),
        ),
        (
            12,
            listing(
                Said(
                    3,
                    "Paths that fail or cannot tell",
                    "Each path whose last test did not pass, with both ends. The list is capped in the program.",
                ),
                Query(FAILING),
                [
                    Column("node", "Node", link=NODE_LINK),
                    Column("device", "Device"),
                    Column("peer", "Peer", link=NODE_LINK),
                    Column("peer_device", "Peer device"),
                    Column("probe", "Probe"),
                    Column("reason", "Reason"),
                    Column("owner", "Who mends it"),
                ],
                Look(no_value="no such path, or no gate answers"),
            ),
        ),
    ],
)
