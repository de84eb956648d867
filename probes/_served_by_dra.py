"""An extended resource may be served by DRA: a DeviceClass names it, and the node's status does not.

Source: Kubernetes KEP 5004, DRAExtendedResource.
"""

import re
from dataclasses import dataclass

from probes._cluster import Cluster, DeviceClass

_DRIVER = re.compile(r"""\s*device\.driver\s*==\s*["']([\w.-]+)["']\s*""")


@dataclass(frozen=True, slots=True)
class Served:
    """By which class a resource is served, and how many devices a node has of it; None where CEL alone could tell."""

    by: str
    count: int | None


def served_by_dra(cluster: Cluster, node: str, resource: str) -> Served | None:
    """Return how DRA serves a resource on a node, or None where no class names it."""
    found = next((one for one in cluster.device_classes if one.extended_resource == resource), None)
    if found is None:
        return None
    driver = _driver(found)
    offered = [len(one.devices) for one in cluster.slices if one.node == node and one.driver == driver]
    return Served(found.name, sum(offered) if driver else None)


def _driver(found: DeviceClass) -> str:
    """The driver whose devices all belong to the class, where that is its one condition."""
    match = _DRIVER.fullmatch(found.conditions[0]) if len(found.conditions) == 1 else None
    return match[1] if match else ""
