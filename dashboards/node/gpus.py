"""Its GPUs: what they are, how near their HCAs are, and which way of GPUDirect is possible."""

from dashboards.frame import Row
from dashboards.looks import (
    BAD,
    CAREFUL,
    DISTANCE,
    GOOD,
    GPUDIRECT,
    GPUDIRECT_CODES,
    NEUTRAL,
    SHARE,
    Look,
    limits,
)
from dashboards.node.scope import PLAIN, of_node, select
from dashboards.panels import Column, Said, graph, listing, tile, timeline
from dashboards.queries import Query, coded, each, or_no_data

MODE = "rdma_gate_gpudirect_mode"
POSSIBLE = each("max", "device", coded(GPUDIRECT_CODES, lambda mode: of_node(MODE, "device mode", f'mode="{mode}"')))
LANES = of_node("rdma_gate_pcie_lanes", "device resource", operation="min")
BEST = of_node("rdma_gate_pcie_lanes_best", "device resource")
LANES_SHARE = Look(unit="percentunit", steps=limits((0, BAD), (1, GOOD)))
BUSY = Look(decimals=0, steps=limits((0, NEUTRAL)))

ROW = Row(
    40,
    "GPUs and GPUDirect",
    7,
    [
        (
            24,
            listing(
                Said(41, "GPUs", "The GPUs on PCI Express that the driver knows, with what it says about each."),
                Query(
                    of_node(
                        "rdma_gate_gpu_info", "index model gpu_uuid pci_address driver_version cuda_driver_version mig"
                    )
                ),
                [
                    Column("index", "Index"),
                    Column("model", "Model"),
                    Column("pci_address", "PCI address"),
                    Column("gpu_uuid", "UUID"),
                    Column("driver_version", "Driver"),
                    Column("cuda_driver_version", "CUDA of the driver"),
                    Column("mig", "MIG"),
                ],
                Look(no_value="no GPU is looked at, or the node is not scraped"),
            ),
        ),
        (
            12,
            timeline(
                Said(
                    42,
                    "Possible way of GPUDirect",
                    "By HCA, from what its driver and the GPU's say. Whether it is the planned one is for check 5 to "
                    "say, and only a transfer from GPU memory proves it. No data: shown within a day before, not now.",
                ),
                [Query(or_no_data(POSSIBLE, select(MODE, "pool node"), "device"), "{{device}}")],
                GPUDIRECT,
            ),
        ),
        (
            12,
            graph(
                Said(
                    43,
                    "GPU memory against host memory",
                    "Bandwidth between GPU memories over that between host memories on the same path, worst peer. Far "
                    "below 100 % hints at host memory on the way; near it proves nothing.",
                ),
                [
                    Query(
                        of_node("rdma_gate_gpu_write_bandwidth_host_share", "device id", operation="min"),
                        "{{device}} {{id}}",
                    )
                ],
                SHARE,
            ),
        ),
        (
            12,
            tile(
                Said(44, "Distance to the partner", "How far the nearest planned partner is on PCI Express."),
                [Query(of_node("rdma_gate_placement_distance", "device resource"), "{{device}}{{resource}}")],
                DISTANCE,
            ),
        ),
        (
            12,
            tile(
                Said(
                    45,
                    "PCI Express lanes",
                    "Lanes of each GPU's and HCA's link over those that both its ends can have: under 100 % some are "
                    "lost.",
                ),
                [
                    Query(
                        f"{LANES}\n/ on (cluster, device, resource)\n({BEST} > 0)",
                        "{{device}}{{resource}}",
                    )
                ],
                LANES_SHARE,
            ),
        ),
        (
            8,
            tile(
                Said(46, "NVLinks up", "NVLinks of each GPU that are up."),
                [Query(of_node("rdma_gate_gpu_nvlinks_up", "resource", operation="min"), "{{resource}}")],
                PLAIN,
            ),
        ),
        (
            8,
            tile(
                Said(47, "Processes on GPUs", "Processes that compute on each GPU; bursts wait while there are any."),
                [Query(of_node("rdma_gate_gpu_processes", "resource"), "{{resource}}")],
                BUSY,
            ),
        ),
        (
            8,
            tile(
                Said(
                    48,
                    "Ports that redirect (ACS)",
                    "Switch ports between GPU and nearest planned HCA that send traffic up to the root complex.",
                ),
                [Query(of_node("rdma_gate_acs_redirecting_ports", "resource"), "{{resource}}")],
                Look(decimals=0, steps=limits((0, GOOD), (1, CAREFUL))),
            ),
        ),
    ],
)
