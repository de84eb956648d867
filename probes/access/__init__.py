"""The pod can see, open and use each of its HCAs and attachments."""

from probes import Check

CHECK = Check(
    number=2,
    title="Interfaces and device access",
    required=(
        "access.ports",
        "access.device_files",
        "access.gids",
    ),
)
