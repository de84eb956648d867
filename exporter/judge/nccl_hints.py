"""What the words of a failed collective point at, without proving it."""

import re

_HINTS = (
    ("nccl_version_mismatch_between_nodes", re.compile(r"is neither AF_INET|Mismatched NCCL version|wrong magic")),
    ("dev_infiniband_not_exposed", re.compile(r"fi_getinfo\(\) call failed: No data|provider efa output empty list")),
    ("dev_infiniband_not_exposed", re.compile(r"ibv_open_device failed|Unable to open device")),
    ("memory_lock_limit", re.compile(r"ibv_(?:reg_mr|create)\w* failed.*(?:Cannot allocate memory|errno 12\b)")),
    ("nvidia_peermem", re.compile(r"ibv_reg_mr\w* failed.*Bad address")),
    ("acs_enabled", re.compile(r"occurs when ACS is enabled")),
    ("fabric_manager", re.compile(r"system not yet initialized")),
    ("no_rdma_device", re.compile(r"NET/IB : No device found")),
)


def hint_of(text: str) -> str | None:
    """A word for where to look first, or None."""
    return next((hint for hint, pattern in _HINTS if pattern.search(text)), None)
