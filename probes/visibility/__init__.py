"""The device plugin is registered and advertises what the plan says."""

from probes import Check

CHECK = Check(
    number=1,
    title="Device visibility",
    required=(
        "visibility.plugin",
        "visibility.allocatable",
    ),
)
