"""What tells from outside that a plugin cannot have registered, or fights another one for a resource's name."""

import posixpath
from collections.abc import Iterator, Sequence

from probes._cluster import ExtendedResource, KubeNode
from probes._problems import Problem
from probes.visibility._plugin_index import NodePlugin
from probes.visibility._plugins import PluginKind, misled_paths, registration_paths

DEFAULT_ROOT = "/var/lib/kubelet"
_GPU_PREFIX = "nvidia.com/"
_ROOTS_BY_LABEL = {"microk8s.io/cluster": "/var/snap/microk8s/common/var/lib/kubelet"}


def kubelet_root(node: KubeNode) -> str:
    """The kubelet's root directory as the distribution usually has it: a guess, by version and labels."""
    if "+k0s" in node.kubelet_version:
        return "/var/lib/k0s/kubelet"
    return next((root for label, root in _ROOTS_BY_LABEL.items() if label in node.labels), DEFAULT_ROOT)


def registration_problems(one: NodePlugin, node: KubeNode, root: str) -> Iterator[Problem]:
    """Say why a plugin whose pod is Ready is not registered. ``root`` is the kubelet's as the plan has it, or empty."""
    if not registration_paths(one.plugin.daemonset.spec):
        wanted = f"{DEFAULT_ROOT}/device-plugins or plugins_registry wanted"
        yield Problem("registration_dir_missing", f"{one.plugin} mounts no registration directory, {wanted}")
        return
    if (misled := misled_paths(one.plugin.daemonset.spec)) and _gives(one, node) is False:
        mounted = ", ".join(f"{host} as {at}" for host, at in misled.items())
        yield Problem("wrong_registration_dir", f"{one.plugin} mounts {mounted}, the kubelet's own wanted")
        return
    registered = _registered(one, node)
    elsewhere = _elsewhere(one, root or kubelet_root(node))
    if elsewhere and (root or registered is False):
        mounted = ", ".join(elsewhere)
        yield Problem(
            "wrong_registration_dir", f"{one.plugin} mounts {mounted}, one below {root or kubelet_root(node)} wanted"
        )
    elif registered is False:
        yield Problem("plugin_registration_failed", _unregistered(one))


def duplicate_owners(plugins: Sequence[NodePlugin]) -> Iterator[Problem]:
    """Say which resource two plugins with pods on this node both advertise: the kubelet takes the newer, silently."""
    owners: dict[str, list[str]] = {}
    for one in plugins:
        for name in dict.fromkeys(_advertised(one)):
            owners.setdefault(name, []).append(str(one.plugin))
    for name, plugins_of in sorted(owners.items()):
        if len(plugins_of) > 1:
            found = " and ".join(sorted(plugins_of))
            yield Problem("duplicate_resource_owner", f"{name} advertised by {found}, one owner wanted")


def _registered(one: NodePlugin, node: KubeNode) -> bool | None:
    """Whether the node's status has any of the plugin's resources; None where their names are not known."""
    own = _own_resources(one, node)
    return None if own is None else bool(own)


def _gives(one: NodePlugin, node: KubeNode) -> bool | None:
    """Whether there is any of them to give: a kubelet goes on naming what an earlier plugin registered, with none."""
    own = _own_resources(one, node)
    return None if own is None else any(found.allocatable for found in own)


def _own_resources(one: NodePlugin, node: KubeNode) -> list[ExtendedResource] | None:
    if one.plugin.kind is PluginKind.NVIDIA_GPU:
        return [found for name, found in node.resources.items() if name.startswith(_GPU_PREFIX)]
    names = _configured(one)
    return [node.resources[name] for name in names if name in node.resources] if names else None


def _advertised(one: NodePlugin) -> list[str]:
    if not one.present:
        return []
    if one.plugin.kind is PluginKind.NVIDIA_GPU:
        return ["nvidia.com/gpu"]
    return _configured(one)


def _configured(one: NodePlugin) -> list[str]:
    return [resource.name for resource in one.config.resources] if one.config else []


def _elsewhere(one: NodePlugin, root: str) -> list[str]:
    """The mounted registration directories, where none is the kubelet's own."""
    mounted = registration_paths(one.plugin.daemonset.spec)
    below = [path for path in mounted if posixpath.dirname(path.rstrip("/")) == root.rstrip("/")]
    return [] if below else list(mounted)


def _unregistered(one: NodePlugin) -> str:
    wanted = "a registered one wanted"
    if one.plugin.kind is PluginKind.SRIOV:
        return f"{one.plugin} has registered no pool (no function matches, or the kubelet never saw it), {wanted}"
    if one.plugin.kind is PluginKind.NVIDIA_GPU:
        return f"{one.plugin} has registered no resource of {_GPU_PREFIX} (no GPU found, or never seen), {wanted}"
    return f"{one.plugin} has registered none of its resources, not even empty ones, {wanted}"
