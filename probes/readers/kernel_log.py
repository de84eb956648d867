"""Denials that the kernel has logged: by AppArmor, by SELinux, and system calls that a seccomp filter killed.

The log is the machine's, so a denial may be another container's. Most containers may not read it at all.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from probes._host import Tree
from probes.readers.optional import optional_text

PATH = "/dev/kmsg"
LIMIT_BYTES = 8 << 20
# Documentation/ABI/testing/dev-kmsg: priority, number and microseconds since boot before the semicolon
RECORD = re.compile(r"\d+,\d+,(?P<microseconds>\d+),[^;]*;(?P<text>.*)")
APPARMOR = re.compile(r'apparmor="DENIED".*?profile="(?P<profile>[^"]+)"')
SELINUX = re.compile(r"avc:\s+denied.*?scontext=[^:\s]+:[^:\s]+:(?P<profile>[^:\s]+)")
SECCOMP = re.compile(r"type=1326\b")
CONCERNING = re.compile(r"infiniband|uverbs|umad|rdma|nvidia|ipc_lock|memlock|/dev/shm")


@dataclass(frozen=True, slots=True)
class Denial:
    """One denial. ``profile`` is AppArmor's profile or SELinux's type, empty for seccomp; ``age_seconds`` up to now.

    ``concerning`` says that it names RDMA, GPUs or pinned memory.
    """

    age_seconds: float
    profile: str
    concerning: bool
    text: str


def read_denials(tree: Tree) -> tuple[Denial, ...] | None:
    """All that the log still holds, the oldest first; None where the log is not visible."""
    uptime = optional_text(tree, "/proc/uptime").partition(" ")[0]
    try:
        log = tree.log(PATH, LIMIT_BYTES)
        return tuple(_denials(log, float(uptime)))
    except (OSError, ValueError):
        return None


def _denials(log: str, uptime_seconds: float) -> Iterator[Denial]:
    for line in log.splitlines():
        record = RECORD.match(line)
        text = record["text"] if record else ""
        by_profile = APPARMOR.search(text) or SELINUX.search(text)
        if record and (by_profile or SECCOMP.search(text)):
            age_seconds = max(0.0, uptime_seconds - int(record["microseconds"]) / 1e6)
            profile = by_profile["profile"] if by_profile else ""
            yield Denial(age_seconds, profile, bool(CONCERNING.search(text)), text)
