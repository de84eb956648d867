"""Each GPU has a NIC near enough, on the same NUMA node."""

from probes import Check

CHECK = Check(
    number=4,
    title="Placement",
    required=("placement.paths",),
)
