"""Every planned RDMA path between nodes carries messages both ways."""

from probes import Check

CHECK = Check(
    number=6,
    title="Connectivity",
    required=(
        "connectivity.ping_pong",
        "connectivity.send_bandwidth",
    ),
)
