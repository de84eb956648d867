"""GPU and RDMA requests are as planned, scheduled and really allocated."""

from probes import Check

CHECK = Check(
    number=3,
    title="Pod resources",
    required=(
        "resources.requests",
        "resources.allocation",
    ),
)
