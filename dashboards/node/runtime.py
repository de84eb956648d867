"""What the workload's user may do, and the versions it runs with."""

from dashboards.frame import Row
from dashboards.looks import (
    BAD,
    GOOD,
    NEUTRAL,
    YES,
    Look,
    limits,
)
from dashboards.node.scope import BLUE_BYTES, LIMIT, of_node
from dashboards.panels import Column, Said, listing, tile
from dashboards.queries import Query

ROW = Row(
    14,
    "Runtime access",
    6,
    [
        (
            5,
            tile(
                Said(
                    15,
                    "Memory-lock limit",
                    "How much memory a process of the workload's user may lock: the soft limit.",
                ),
                [Query(of_node("rdma_gate_memory_lock_limit_bytes", operation="min"), "limit")],
                LIMIT,
            ),
        ),
        (
            5,
            tile(
                Said(16, "Limit lifted", "Whether CAP_IPC_LOCK lifts the limit."),
                [Query(of_node("rdma_gate_ipc_lock_effective", operation="min"), "CAP_IPC_LOCK")],
                Look(mappings=YES.mappings, steps=limits((0, NEUTRAL))),
            ),
        ),
        (
            7,
            tile(
                Said(
                    17,
                    "Memory registered",
                    "How much memory the last run could register on each HCA as a proof; 0 is none.",
                ),
                [Query(of_node("rdma_gate_memory_registered_bytes", "device", operation="min"), "{{device}}")],
                Look(unit="bytes", steps=limits((0, BAD), (1, GOOD))),
            ),
        ),
        (
            7,
            tile(
                Said(18, "Shared memory", "The size of /dev/shm that the workload would see."),
                [Query(of_node("rdma_gate_shared_memory_bytes", "resource", operation="min"), "{{resource}}")],
                BLUE_BYTES,
            ),
        ),
        (
            24,
            listing(
                Said(19, "Versions", "What this machine runs. A change makes the results that depend on it stale."),
                Query(
                    of_node(
                        "rdma_gate_version_info",
                        "kernel rdma_core perftest mlx5_core nvidia nvidia_open nvidia_peermem cuda",
                    )
                ),
                [
                    Column("kernel", "Kernel"),
                    Column("rdma_core", "rdma-core"),
                    Column("perftest", "perftest"),
                    Column("mlx5_core", "mlx5_core"),
                    Column("nvidia", "nvidia"),
                    Column("nvidia_open", "nvidia (open)"),
                    Column("nvidia_peermem", "nvidia_peermem"),
                    Column("cuda", "CUDA of the driver"),
                ],
                Look(),
            ),
        ),
    ],
)
