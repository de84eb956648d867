"""What an operator's own objects say against the configuration that its plugin really reads on a node.

The network operator writes a policy's JSON into the plugin's ConfigMap, the SR-IOV operator makes one for each node of
its policies. Where that did not happen the plugin goes on with the old one, and every other object looks as wanted.
Operators whose objects are not there, or may not be read, say nothing.
"""

from collections.abc import Iterator, Mapping

from probes._cluster import Cluster, KubeNode, NicPolicy, SriovNodeState
from probes._problems import Problem, unknown
from probes.visibility._config_items import ConfiguredResource
from probes.visibility._plugin_config import read_config
from probes.visibility._plugin_index import NodePlugin
from probes.visibility._plugins import PluginKind

_FIELDS = {PluginKind.RDMA_SHARED: "rdmaSharedDevicePlugin", PluginKind.SRIOV: "sriovDevicePlugin"}

Meant = Mapping[str, tuple[int | None, Mapping[str, tuple[str, ...]]]]


def operator_problems(cluster: Cluster, node: KubeNode, one: NodePlugin) -> Iterator[Problem]:
    """Say where the plugin's configuration on this node is not that of the operator's objects."""
    if one.config is None or one.source is None:
        return
    policy = _policy_of(cluster, one)
    if policy is not None:
        yield from _nic_policy(policy, one)
    elif one.plugin.kind is PluginKind.SRIOV:
        state = next((found for found in cluster.sriov_states if found.node == node.name), None)
        if state is not None:
            yield from _node_state(state, one)
            yield from _sriov_policies(cluster, node, state, one)


def _policy_of(cluster: Cluster, one: NodePlugin) -> NicPolicy | None:
    """The policy that made the DaemonSet."""
    kind, _, name = one.plugin.daemonset.owner.partition("/")
    return next((found for found in cluster.nic_policies if (found.kind, found.name) == (kind, name)), None)


def _nic_policy(policy: NicPolicy, one: NodePlugin) -> Iterator[Problem]:
    text = policy.configs.get(_FIELDS.get(one.plugin.kind, ""))
    if text is None or one.config is None or one.source is None:
        return
    wanted, found = _meant(read_config(text, one.plugin.kind).resources), _meant(one.config.resources)
    names = sorted(name for name in {*wanted, *found} if wanted.get(name) != found.get(name))
    if names:
        place = f"{policy.kind} {policy.name}"
        listed = "; ".join(f"{name}: {_told(found, name)}, {_told(wanted, name)} by {place}" for name in names)
        yield Problem("config_differs_from_policy", f"{one.source.place} has {listed} found, the same in both wanted")


def _node_state(state: SriovNodeState, one: NodePlugin) -> Iterator[Problem]:
    """The operator's last word on this node against the key that it wrote for it."""
    assert one.config is not None
    assert one.source is not None
    wanted = {name for name, count in state.wanted.items() if name and count}
    found = {resource.name.partition("/")[2] for resource in one.config.resources}
    if wanted - found:
        names = ", ".join(sorted(wanted - found))
        sentence = f"{one.source.place} without {names} of SriovNetworkNodeState {state.node} found, the same wanted"
        yield Problem("config_differs_from_policy", sentence)


def _sriov_policies(cluster: Cluster, node: KubeNode, state: SriovNodeState, one: NodePlugin) -> Iterator[Problem]:
    """A policy may select a node that has none of its NICs, so that one without an effect is only a doubt."""
    assert one.config is not None
    known = {resource.name.partition("/")[2] for resource in one.config.resources} | {*state.wanted}
    for policy in cluster.sriov_policies:
        selects = all(node.labels.get(label) == value for label, value in policy.node_selector.items())
        if selects and policy.functions and policy.resource not in known:
            told = f"SriovNetworkNodePolicy {policy.name} wants {policy.functions} functions as {policy.resource}"
            sentence = f"{told}, neither state nor configuration of {node.name} has any found, an effect wanted"
            yield unknown("policy_not_applied", sentence)


def _meant(resources: tuple[ConfiguredResource, ...]) -> Meant:
    return {one.name: (one.tokens, one.selectors) for one in resources}


def _told(meant: Meant, name: str) -> str:
    if name not in meant:
        return "absent"
    tokens, selectors = meant[name]
    chosen = ", ".join(f"{key} {'/'.join(values)}" for key, values in sorted(selectors.items())) or "no selectors"
    return f"{tokens} tokens, {chosen}" if tokens is not None else chosen
