"""What a process costs, as the kernel counts it."""

import os
import re
from pathlib import Path

TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid: int) -> float:
    """Return user and system time of the process and of the children that it waited for, in seconds."""
    # The name may hold spaces and brackets; what follows its last bracket is the state, then numbers.
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / TICKS_PER_SECOND


def resident_mib(pid: int, which: str = "VmRSS") -> float:
    """Return the memory that is resident now (VmRSS) or was at most (VmHWM), in MiB."""
    match = re.search(rf"^{which}:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    assert match is not None
    return int(match[1]) / 1024
