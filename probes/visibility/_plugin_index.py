"""The plugins of a cluster as one node sees them: which have a pod there, which are meant to, and what they read."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from probes._cluster import Cluster, KubeNode
from probes._workloads import ConfigMap, DaemonSet, Pod
from probes.visibility._config_source import ConfigSource, find_config, unread_maps
from probes.visibility._plugin_config import PluginConfig, read_config
from probes.visibility._plugins import Family, PluginKind, is_plugin, plugin_family, plugin_kind

CONFIGURED = frozenset({PluginKind.RDMA_SHARED, PluginKind.SRIOV})


@dataclass(frozen=True, slots=True)
class Plugin:
    """One DaemonSet that is a plugin."""

    daemonset: DaemonSet
    kind: PluginKind
    family: Family

    def __str__(self) -> str:
        return str(self.daemonset)


@dataclass(frozen=True, slots=True)
class NodePlugin:
    """One plugin on one node: its pods there, whether it selects the node, and the configuration it reads there."""

    plugin: Plugin
    pods: tuple[Pod, ...]
    selects: bool
    source: ConfigSource | None
    config: PluginConfig | None
    unread_maps: tuple[str, ...] = ()

    @property
    def present(self) -> bool:
        """Whether it has a pod on the node."""
        return bool(self.pods)


@dataclass(frozen=True)
class PluginIndex:
    """All plugins of a cluster with their pods and ConfigMaps, each found at once."""

    plugins: tuple[Plugin, ...]
    pods: Mapping[tuple[str, str, str], tuple[Pod, ...]]
    maps: Mapping[tuple[str, str], ConfigMap]

    def on(self, node: KubeNode) -> tuple[NodePlugin, ...]:
        """Return each plugin as this node sees it."""
        return tuple(self._one(plugin, node) for plugin in self.plugins)

    def _one(self, plugin: Plugin, node: KubeNode) -> NodePlugin:
        one = plugin.daemonset
        source = config = None
        if plugin.kind in CONFIGURED:
            source = find_config(one.spec, one.namespace, node.name, self.maps)
            config = read_config(source.text, plugin.kind) if source else None
        pods = self.pods.get((one.namespace, one.name, node.name), ())
        unread = unread_maps(one.spec, one.namespace, self.maps) if plugin.kind in CONFIGURED else ()
        return NodePlugin(plugin, pods, selects(one, node), source, config, unread)


def index_plugins(cluster: Cluster) -> PluginIndex:
    """Gather the plugins of a cluster; DaemonSets without two signs are left out."""
    plugins = tuple(_plugin(one) for one in cluster.plugins if is_plugin(one.spec, one.name))
    return PluginIndex(plugins, _by_node(cluster.plugin_pods), {(m.namespace, m.name): m for m in cluster.config_maps})


def selects(daemonset: DaemonSet, node: KubeNode) -> bool:
    """Whether the node has every label that the DaemonSet's node selector wants."""
    return not missing_labels(daemonset, node)


def missing_labels(daemonset: DaemonSet, node: KubeNode) -> dict[str, str]:
    """The labels of the node selector that the node has not, with the values wanted."""
    wanted = daemonset.spec.node_selector
    return {label: value for label, value in wanted.items() if node.labels.get(label) != value}


def _plugin(one: DaemonSet) -> Plugin:
    return Plugin(one, plugin_kind(one.spec, one.name), plugin_family(one.spec, one.name))


def _by_node(pods: Iterable[Pod]) -> dict[tuple[str, str, str], tuple[Pod, ...]]:
    found: dict[tuple[str, str, str], tuple[Pod, ...]] = {}
    for pod in pods:
        kind, _, owner = pod.owner.partition("/")
        if kind == "DaemonSet" and pod.node and pod.phase not in {"Succeeded", "Failed"}:
            key = (pod.namespace, owner, pod.node)
            found[key] = (*found.get(key, ()), pod)
    return found
