"""What the ports count."""

from dashboards.counters import counter_panels, port_rate
from dashboards.fabric.scope import PATH, SCOPE, select
from dashboards.frame import Row
from dashboards.looks import COUNT
from dashboards.panels import Said, graph
from dashboards.queries import ONLY_MOST, Query, each, most

PORT = "node device port"
CHANGES = port_rate(SCOPE, "rdma_gate_port_carrier_changes_total", PORT)
DOWNED = port_rate(SCOPE, "rdma_gate_port_link_downed_total", PORT)
ROW = Row(
    15,
    "Counters",
    8,
    [
        (
            8,
            graph(
                Said(
                    16,
                    "Packets lost in tests",
                    "What the ports counted in the last path test of each device: lost packets are a fault anywhere."
                    + ONLY_MOST,
                ),
                [
                    Query(
                        most(each("max", "node device", select("rdma_gate_path_lost_packets", PATH))),
                        "{{node}} {{device}}",
                    )
                ],
                COUNT,
            ),
        ),
        (
            8,
            graph(
                Said(
                    17,
                    "Packets repeated in tests",
                    "Retransmissions and timeouts in the last path test of each device. Soft-RoCE has some in "
                    "healthy runs too." + ONLY_MOST,
                ),
                [
                    Query(
                        most(each("max", "node device", select("rdma_gate_path_retries", PATH))), "{{node}} {{device}}"
                    )
                ],
                COUNT,
            ),
        ),
        (
            8,
            graph(
                Said(
                    18,
                    "Link losses",
                    "Carrier changes of the netdev and losses of the RDMA link, an hour at the rate of the "
                    "moment. A flap is two carrier changes." + ONLY_MOST,
                ),
                [
                    Query(
                        most(f"3600 * {CHANGES}"),
                        "{{node}} {{device}}/{{port}} carrier changes",
                    ),
                    Query(
                        most(f"3600 * {DOWNED}"),
                        "{{node}} {{device}}/{{port}} link downed",
                    ),
                ],
                COUNT,
            ),
        ),
        *counter_panels(SCOPE, 19, PORT, "{{node}} {{device}}/{{port}}", shown=most, more=ONLY_MOST),
    ],
)
