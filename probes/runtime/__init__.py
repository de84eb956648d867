"""Drivers, permissions, memory registration and GPUDirect allow RDMA at run time."""

from probes import Check

CHECK = Check(
    number=5,
    title="Runtime access",
    required=(
        "runtime.memory_lock",
        "runtime.gpudirect",
    ),
)
