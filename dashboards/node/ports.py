"""Ports and devices, as the node itself sees them."""

from dashboards.counters import counter_panels, port_rate
from dashboards.frame import Row
from dashboards.looks import (
    COUNT,
    NEUTRAL,
    PORT,
    YES,
    Look,
    limits,
)
from dashboards.node.scope import PLAIN, SCOPE, of_node, select
from dashboards.panels import Column, Said, graph, listing, tile, timeline
from dashboards.queries import Query, or_no_data

STATE = of_node("rdma_gate_port_state", "device port", operation="min")
CHANGES = port_rate(SCOPE, "rdma_gate_port_carrier_changes_total", "device port")
DOWNED = port_rate(SCOPE, "rdma_gate_port_link_downed_total", "device port")
ROW = Row(
    7,
    "Ports and devices",
    7,
    [
        (
            12,
            timeline(
                Said(8, "Port state", "ACTIVE and LinkUp, by device and port, as the node itself last polled it."),
                [
                    Query(
                        or_no_data(STATE, select("rdma_gate_port_state", "pool node"), "device port"),
                        "{{device}}/{{port}}",
                    )
                ],
                PORT,
            ),
        ),
        (
            12,
            graph(
                Said(
                    9,
                    "Link losses",
                    "How often the carrier of the netdev came or went, and how often the RDMA link went down, an "
                    "hour at the rate of the moment. A flap is two carrier changes.",
                ),
                [
                    Query(f"3600 * {CHANGES}", "{{device}}/{{port}} carrier changes"),
                    Query(f"3600 * {DOWNED}", "{{device}}/{{port}} link downed"),
                ],
                COUNT,
            ),
        ),
        (
            24,
            listing(
                Said(10, "Devices", "The planned HCAs that were found, with what is known about each."),
                Query(
                    of_node("rdma_gate_device_info", "device port rail netdev link_layer driver firmware pci_address")
                ),
                [
                    Column("device", "Device"),
                    Column("port", "Port"),
                    Column("rail", "Rail"),
                    Column("netdev", "Netdev"),
                    Column("link_layer", "Link layer"),
                    Column("driver", "Driver"),
                    Column("firmware", "Firmware"),
                    Column("pci_address", "PCI address"),
                ],
                Look(),
            ),
        ),
        (
            6,
            tile(
                Said(11, "Negotiated rate", "The speed that each port has negotiated."),
                [
                    Query(
                        f"8 * {of_node('rdma_gate_port_rate_bytes_per_second', 'device port', operation='min')}",
                        "{{device}}/{{port}}",
                    )
                ],
                Look(unit="bps", steps=limits((0, NEUTRAL))),
            ),
        ),
        (
            6,
            tile(
                Said(
                    12,
                    "GID index",
                    "The index of the GID that RoCE v2 uses from this network namespace; a change is worth a look.",
                ),
                [Query(of_node("rdma_gate_gid_index", "device port"), "{{device}}/{{port}}")],
                PLAIN,
            ),
        ),
        (
            12,
            tile(
                Said(
                    13,
                    "Device files open",
                    "Whether each device file is the right one and can be opened by the workload's user.",
                ),
                [
                    Query(
                        of_node("rdma_gate_device_file_opens", "device resource", operation="min"),
                        "{{device}} {{resource}}",
                    )
                ],
                YES,
            ),
        ),
        *counter_panels(SCOPE, 30, "device port", "{{device}}/{{port}}"),
    ],
)
