"""Each node has a healthy device plugin for its RDMA devices and one for its GPUs.

Reads, from the Kubernetes API, the DaemonSets that look like device plugins or DRA drivers (two of five signs: they
mount a registration directory; image, arguments, labels and ConfigMap are those of a plugin), their pods, their
ConfigMaps and the nodes. No names have to be known, and counts such as "ready equals desired" are not believed: each
planned node must have the pod itself.

Passes when, for each family on each node: a plugin has a pod there that is Ready, does not restart in a loop, and is
of the DaemonSet's present template; its configuration has no mistake and did not change after the plugin started; it
mounts the kubelet's registration directory; the node's status has at least one of its resources; and no second
plugin advertises the same name.

Settings:
  families        what must be provided: ``rdma`` and ``gpu`` unless said otherwise
  daemonsets      plugins as ``namespace/name`` that each node must have beyond that, whatever they look like
  kubelet_root    the kubelet's root directory; empty means the default one of the distribution
  settle          seconds that a pod may be not Ready, and a plugin unregistered, after a start
  init_limit      seconds after which an init container that still runs is stuck; also how recent a restart must be
  restarts        how many restarts, the last within ``init_limit``, may be a loop (unknown until it lasts)

Where NVIDIA's network operator or the SR-IOV operator made the plugin, the configuration that it reads is that of
their policies (NicClusterPolicy, NicNodePolicy, SriovNetworkNodeState, SriovNetworkNodePolicy). Without them nothing of
it is asked.

A plugin is taken off a node while the driver is reloaded (``mofed.wait``, ``paused-for-driver-upgrade``): that is
unknown, not failed.

Cannot see: whether the kubelet really accepted the plugin (``visibility.allocatable`` looks at what it advertises),
node affinity, the cause within the pod (its log has hints, ``rdma-gate judge plugin-config``). A ConfigMap that holds
the texts of several nodes does not tell whose text changed.

Sources: kubelet devicemanager; k8s-rdma-shared-dev-plugin; sriov-network-device-plugin; NVIDIA k8s-device-plugin;
network-operator and gpu-operator manifests.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from probes import Evidence, Finding, Kind, Metric, Owner, ProbeError, Reason, Sample, Seconds, Subject
from probes._cluster import Cluster, KubeNode
from probes._node_state import REASONS as NODE_REASONS
from probes._node_state import node_problem
from probes._problems import Problem, Shown, unknown, verdict
from probes.visibility import _absent_plugin, _pod_rules
from probes.visibility._operator_rules import operator_problems
from probes.visibility._plugin_index import NodePlugin, PluginIndex, index_plugins
from probes.visibility._plugins import Family, PluginKind
from probes.visibility._registration import duplicate_owners, registration_problems

METRICS = {
    "plugin_pod_ready": Metric(Kind.GAUGE, "1 when the node has a Ready pod of a plugin of this group, else 0."),
    "plugin_restarts_total": Metric(Kind.COUNTER, "Restarts of the containers of the plugins' pods on the node."),
}

REASONS = {
    **NODE_REASONS,
    "plugin_daemonset_missing": Reason("no DaemonSet in the cluster looks like such a plugin", Owner.PLATFORM),
    "plugin_pod_absent_on_node": Reason("the node has no pod of the plugin", Owner.PLATFORM),
    "plugin_pod_not_ready": Reason("the plugin's pod on the node is not Ready", Owner.PLATFORM),
    "plugin_init_stuck": Reason("an init container of the plugin's pod does not end", Owner.PLATFORM),
    "plugin_restart_loop": Reason("the plugin's pod restarts again and again", Owner.PLATFORM),
    "plugin_registration_failed": Reason("the plugin runs, yet the node has none of its resources", Owner.PLATFORM),
    "registration_dir_missing": Reason("the plugin mounts no directory to register in", Owner.PLATFORM),
    "wrong_registration_dir": Reason("the plugin registers where no kubelet looks", Owner.PLATFORM),
    "rollout_unfinished": Reason("the node's pod is of an older template than the DaemonSet's", Owner.PLATFORM),
    "config_invalid": Reason("the plugin refuses its configuration, or advertises nothing by it", Owner.PLATFORM),
    "config_missing": Reason("the plugin's configuration could not be found", Owner.PLATFORM),
    "config_differs_from_policy": Reason("the plugin reads another configuration than its operator's", Owner.PLATFORM),
    "policy_not_applied": Reason("an SR-IOV policy selects the node and has no effect on it", Owner.PLATFORM),
    "config_not_reloaded": Reason("the configuration changed after the plugin had read it", Owner.PLATFORM),
    "duplicate_resource_owner": Reason("two plugins on the node advertise the same resource", Owner.PLATFORM),
    "driver_wait_label": Reason("the plugin is kept off the node while its driver is loaded", Owner.PLATFORM),
}


@dataclass(frozen=True)
class Probe:
    """Settings as the module says."""

    families: tuple[str, ...] = ("rdma", "gpu")
    daemonsets: tuple[str, ...] = ()
    kubelet_root: str = ""
    settle: Seconds = 120.0
    init_limit: Seconds = 600.0
    restarts: int = 3

    async def run(self, cluster: Cluster) -> Iterable[Finding]:
        """One finding for each family and each pinned DaemonSet on each node."""
        cluster.need("nodes", "daemonsets.apps")
        index = index_plugins(cluster)
        _need_pods(cluster, index)
        return [one for name in cluster.judged for one in self._judge(cluster, index, name)]

    def _judge(self, cluster: Cluster, index: PluginIndex, name: str) -> Iterator[Finding]:
        groups = (*self.families, *self.daemonsets)
        if problem := node_problem(cluster, name):
            yield from (verdict(Subject(name, group=group), [problem], "") for group in groups)
            return
        node = cluster.nodes[name]
        plugins = index.on(node)
        for group in groups:
            wanted = [one for one in plugins if _is_of(one, group)]
            problems = list(self._problems(cluster, node, wanted, group))
            yield verdict(Subject(name, group=group), problems, _passed(wanted), _shown(wanted))

    def _problems(
        self, cluster: Cluster, node: KubeNode, wanted: Sequence[NodePlugin], group: str
    ) -> Iterator[Problem]:
        present = [one for one in wanted if one.present]
        if not present:
            yield _absent_plugin.problem(node, wanted, group)
        for one in present:
            own = [*_pod_rules.pod_problems(one, self._limits(), cluster.now), *_config_problems(cluster, one)]
            yield from own
            yield from operator_problems(cluster, node, one)
            settled = cluster.now - _pod_rules.started(one) >= self.settle
            if settled and not own and one.plugin.kind is not PluginKind.DRA:
                yield from registration_problems(one, node, self.kubelet_root)
        yield from duplicate_owners(present)
        yield from _rollouts(present)

    def _limits(self) -> _pod_rules.Limits:
        return _pod_rules.Limits(self.settle, self.init_limit, self.restarts)


def _need_pods(cluster: Cluster, index: PluginIndex) -> None:
    """Pods of other namespaces may stay unread: only those of the plugins count here."""
    namespaces = {"", *(one.daemonset.namespace for one in index.plugins)}
    if denied := [one for one in cluster.missing(("pods",)) if one.namespace in namespaces]:
        raise ProbeError(denied[0].reason, "; ".join(str(one) for one in denied))


def _is_of(one: NodePlugin, group: str) -> bool:
    if "/" in group:
        return str(one.plugin) == group
    # A DRA driver whose image does not tell what it provides may provide either.
    either = one.plugin.kind is PluginKind.DRA and one.plugin.family is Family.OTHER
    return one.plugin.family.value == group or (either and one.present)


def _config_problems(cluster: Cluster, one: NodePlugin) -> Iterator[Problem]:
    if one.config and one.source and one.config.refused:
        first, *others = one.config.refused
        more = f" (and {len(others)} more)" if others else ""
        yield Problem("config_invalid", f"{one.source.place}: {first}{more}")
    if one.source or not one.unread_maps:
        return
    denied = cluster.missing(("configmaps",))
    if denied:
        yield unknown(denied[0].reason, str(denied[0]))
    else:
        names = ", ".join(one.unread_maps)
        yield unknown("config_missing", f"{one.plugin} reads {names}, which was not found, a ConfigMap wanted")


def _rollouts(present: Sequence[NodePlugin]) -> Iterator[Problem]:
    for one in present:
        has, seen = one.plugin.daemonset.generation, one.plugin.daemonset.observed_generation
        if seen < has:
            yield unknown("rollout_unfinished", f"{one.plugin} generation {seen} is rolled out, {has} wanted")


def _passed(wanted: Sequence[NodePlugin]) -> str:
    return ", ".join(f"{one.plugin.kind.value} plugin {pod} is Ready" for one in wanted for pod in one.pods)


def _shown(wanted: Sequence[NodePlugin]) -> Shown:
    pods = [pod for one in wanted for pod in one.pods]
    samples = (
        Sample("plugin_pod_ready", float(any(pod.ready for pod in pods))),
        Sample("plugin_restarts_total", float(sum(state.restarts for pod in pods for state in pod.containers))),
    )
    sources = [one.source for one in wanted if one.source and one.present]
    warnings = [str(m) for one in wanted if one.config and one.present for m in one.config.mistakes if not m.grave]
    facts = {
        "plugins": ", ".join(f"{one.plugin} ({one.plugin.kind.value})" for one in wanted if one.present),
        "configuration": ", ".join(source.place for source in sources),
        "warning": "; ".join(warnings),
    }
    return Shown(samples, tuple(Evidence(source.place, source.text) for source in sources), facts)
