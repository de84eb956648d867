"""Transfers and GPU collectives reach the agreed targets."""

from probes import Check

CHECK = Check(
    number=7,
    title="Transfers and GPU collectives",
    required=(
        "transfers.write_bandwidth",
        "transfers.write_latency",
        "transfers.collectives",
    ),
)
