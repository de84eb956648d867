"""Which nodes of a cluster look like a pool: those with GPUs or RDMA of the same kinds, on the same type of machine."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from probes._cluster import Cluster, KubeNode
from probes._resource_names import is_gpu, is_rdma
from probes.visibility._plugin_index import NodePlugin, index_plugins

TYPES = ("node.kubernetes.io/instance-type", "nvidia.com/gpu.product", "node.kubernetes.io/nodepool")
NAMES_AT_MOST = 5


@dataclass(frozen=True, slots=True)
class PoolSeen:
    """Nodes that are alike. ``selector`` picks these and no others; empty where no label does.

    ``resources`` is what most of them can give out; ``sources`` are sentences about the plugins' configuration, and
    ``doubts`` sentences about what does not fit.
    """

    nodes: tuple[str, ...]
    selector: str
    resources: Mapping[str, int]
    sources: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()


def pools_seen(cluster: Cluster) -> tuple[PoolSeen, ...]:
    """Return the pools that the facts suggest, the largest first. Nodes without GPU and RDMA stand in none."""
    configured = _configured(cluster)
    groups: defaultdict[tuple[object, ...], list[KubeNode]] = defaultdict(list)
    for node in cluster.nodes.values():
        names = frozenset(name for name in node.resources if _is_ours(name, configured))
        if names:
            groups[*(node.labels.get(label, "") for label in TYPES), names].append(node)
    ordered = sorted(groups.values(), key=lambda nodes: (-len(nodes), nodes[0].name))
    return tuple(_pool(sorted(nodes, key=lambda one: one.name), cluster, configured) for nodes in ordered)


def _configured(cluster: Cluster) -> dict[str, str]:
    """What the plugins' configuration says of each resource, as a sentence."""
    index = index_plugins(cluster)
    found: dict[str, str] = {}
    for node in cluster.nodes.values():
        found.update(one for plugin in index.on(node) if plugin.present for one in _of(plugin))
    return found


def _of(plugin: NodePlugin) -> Iterator[tuple[str, str]]:
    for one in plugin.config.resources if plugin.config and plugin.source else ():
        count = f"{one.tokens} tokens" if one.tokens is not None else "as many as functions"
        yield one.name, f"{one.name}: {count} by {plugin.source.place if plugin.source else ''}"


def _is_ours(name: str, configured: Mapping[str, str]) -> bool:
    return is_gpu(name) or is_rdma(name) or name in configured


def _pool(nodes: Sequence[KubeNode], cluster: Cluster, configured: Mapping[str, str]) -> PoolSeen:
    names = sorted({name for node in nodes for name in node.resources if _is_ours(name, configured)})
    usual = {name: _usual(node.resources[name].allocatable for node in nodes) for name in names}
    return PoolSeen(
        nodes=tuple(node.name for node in nodes),
        selector=_selector(nodes, cluster),
        resources=usual,
        sources=tuple(configured[name] for name in names if name in configured),
        doubts=tuple(_doubts(nodes, usual)),
    )


def _usual(counts: Iterable[int]) -> int:
    """The count that most have; of two that are as frequent the larger, since a device that failed makes it smaller."""
    found = Counter(counts)
    return max(found, key=lambda count: (found[count], count))


def _selector(nodes: Sequence[KubeNode], cluster: Cluster) -> str:
    wanted = {node.name for node in nodes}
    for label in TYPES:
        value = nodes[0].labels.get(label, "")
        if value and {one.name for one in cluster.nodes.values() if one.labels.get(label) == value} == wanted:
            return f"{label}={value}"
    return ""


def _doubts(nodes: Sequence[KubeNode], usual: Mapping[str, int]) -> Iterator[str]:
    for name, count in usual.items():
        others = [f"{node.name} {found}" for node in nodes if (found := node.resources[name].allocatable) != count]
        if others:
            yield f"{name}: {count} on most nodes, other numbers on {listed(others)}"
    if not any(is_gpu(name) for name in usual):
        yield "RDMA without GPUs: is this pool to be judged?"
    if all(is_gpu(name) for name in usual):
        yield "GPUs without RDMA: has its plugin failed, is it DRA, or has this pool none?"
    away = [node.name for node in nodes if not node.ready or node.unschedulable]
    if away:
        yield f"not Ready or cordoned: {listed(away)}; they count as seen"


def listed(names: Sequence[str]) -> str:
    """Return the first names and how many more there are."""
    more = f" and {len(names) - NAMES_AT_MOST} more" if len(names) > NAMES_AT_MOST else ""
    return f"{', '.join(names[:NAMES_AT_MOST])}{more}"
