"""A Node becomes a fact; what has been so since when is told by comparing it with the one before."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from exporter.cluster.api_time import unix_seconds
from exporter.cluster.maintenance import ANNOUNCING
from exporter.cluster.wire import meta, nodes
from probes._cluster import ExtendedResource, KubeNode, Taint
from probes._quantity import read_whole
from probes._resource_names import is_extended
from probes._workloads import Condition


def read_node(node: nodes.Node, before: KubeNode | None, now: float) -> KubeNode:
    """Return the node. ``before`` is what was known of it until now, ``now`` Unix seconds of the gate."""
    annotations = node.metadata.annotations or {}
    known = before.resources if before and before.uid == node.metadata.uid else {}
    return KubeNode(
        name=node.metadata.name,
        uid=node.metadata.uid,
        labels=node.metadata.labels or {},
        unschedulable=node.spec.unschedulable,
        deleting=bool(node.metadata.deletion_timestamp),
        taints=tuple(Taint(one.key, one.value, one.effect) for one in node.spec.taints or ()),
        conditions=read_conditions(node.status.conditions),
        resources=dict(_since(_resources(node.status), known, now)),
        internal_address=next((one.address for one in node.status.addresses or () if one.type == "InternalIP"), ""),
        boot_id=node.status.node_info.boot_id,
        kubelet_version=node.status.node_info.kubelet_version,
        annotations={name: annotations[name] for name in ANNOUNCING if name in annotations},
    )


def read_conditions(conditions: Iterable[meta.Condition] | None) -> Mapping[str, Condition]:
    """Return conditions by their type."""
    return {
        one.type: Condition(one.status, one.reason or "", one.message or "", unix_seconds(one.last_transition_time))
        for one in conditions or ()
    }


def _resources(status: nodes.NodeStatus) -> Iterator[tuple[str, ExtendedResource]]:
    capacity, allocatable = status.capacity or {}, status.allocatable or {}
    for name in sorted({*capacity, *allocatable}):
        if "/" in name and is_extended(name):
            yield name, ExtendedResource(_count(capacity, name), _count(allocatable, name), 0.0)


def _count(quantities: Mapping[str, str], name: str) -> int:
    # The API takes whole numbers only here, so anything else is one that it does not write.
    try:
        return read_whole(quantities.get(name, "0"))
    except ValueError:
        return 0


def _since(
    found: Iterable[tuple[str, ExtendedResource]], before: Mapping[str, ExtendedResource], now: float
) -> Iterator[tuple[str, ExtendedResource]]:
    for name, one in found:
        old = before.get(name)
        same = old is not None and (old.capacity, old.allocatable) == (one.capacity, one.allocatable)
        yield name, old if same and old else replace(one, since=now)
