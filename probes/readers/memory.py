"""How much memory this process can still take without harm: what the machine has free, and what its cgroup allows."""

import re

from probes._host import Tree
from probes.readers.optional import optional_text

AVAILABLE = re.compile(r"^MemAvailable:\s+(\d+) kB$", re.MULTILINE)
CGROUP = "/sys/fs/cgroup"


def read_available_bytes(tree: Tree) -> int | None:
    """The smaller of MemAvailable and what is left of the cgroup's limit (v2, or v1's memory); None when unknown."""
    found = AVAILABLE.search(optional_text(tree, "/proc/meminfo"))
    if found is None:
        return None
    return min([int(found[1]) * 1024, *_left_in_cgroup(tree)])


def _left_in_cgroup(tree: Tree) -> list[int]:
    own = re.search(r"^0::(/.*)$", optional_text(tree, "/proc/self/cgroup"), re.MULTILINE)
    folder = f"{CGROUP}{own[1].rstrip('/')}" if own else CGROUP
    pairs = (
        (f"{folder}/memory.max", f"{folder}/memory.current"),
        (f"{CGROUP}/memory.max", f"{CGROUP}/memory.current"),
        (f"{CGROUP}/memory/memory.limit_in_bytes", f"{CGROUP}/memory/memory.usage_in_bytes"),
    )
    texts = [(optional_text(tree, limit), optional_text(tree, used)) for limit, used in pairs]
    return [max(0, int(limit) - int(used)) for limit, used in texts if limit.isdigit() and used.isdigit()]
