"""What every RDMA port of this node has counted, whichever of them a collective may use."""

from probes._host import Tree
from probes.readers.counters import read_counters
from probes.readers.sysfs import DEVICES

Counters = dict[str, dict[str, int]]


def read_all_counters(tree: Tree) -> Counters:
    """Return ``device/port -> name -> value``; empty on a machine without RDMA devices."""
    return {
        f"{device}/{port}": read_counters(tree, device, int(port))
        for device in tree.names(DEVICES)
        for port in tree.names(f"{DEVICES}/{device}/ports")
        if port.isdigit()
    }
