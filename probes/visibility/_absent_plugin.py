"""Why a node has no pod of a plugin: none in the cluster, kept off while a driver loads, not selected, or not there."""

from collections.abc import Sequence

from probes._cluster import KubeNode
from probes._problems import Problem, unknown
from probes.visibility._plugin_index import NodePlugin, missing_labels

_DRIVER_WAIT = "network.nvidia.com/operator.mofed.wait"
_PAUSED = "paused-for-driver-upgrade"
_SRIOV_STATE = "sriovnetwork.openshift.io/state"
_SRIOV_IDLE = frozenset({"", "Idle"})


def problem(node: KubeNode, wanted: Sequence[NodePlugin], group: str) -> Problem:
    """Return the one reason for which the node has no pod of any of these plugins."""
    what = f"no {group} plugin"
    if not wanted:
        if "/" in group:
            return Problem("plugin_daemonset_missing", f"no plugin {group} among the DaemonSets found, one wanted")
        return Problem("plugin_daemonset_missing", f"no DaemonSet that looks like a {group} plugin found, one wanted")
    if waiting := driver_wait(node):
        return unknown("driver_wait_label", f"{what} while {waiting} found, a pod once the driver is loaded wanted")
    selecting = [one for one in wanted if one.selects]
    if selecting:
        names = ", ".join(str(one.plugin) for one in selecting)
        return Problem("plugin_pod_absent_on_node", f"no pod of {names} found, one wanted")
    labels = ", ".join(f"{label}={value}" for label, value in missing_labels(wanted[0].plugin.daemonset, node).items())
    return Problem("plugin_pod_absent_on_node", f"{wanted[0].plugin} does not select the node, label {labels} wanted")


def driver_wait(node: KubeNode) -> str:
    """The label that says that a driver is being loaded or the node is drained for it, or nothing."""
    if node.labels.get(_DRIVER_WAIT) == "true":
        return f"{_DRIVER_WAIT}=true"
    state = node.annotations.get(_SRIOV_STATE, "") or node.labels.get(_SRIOV_STATE, "")
    if state not in _SRIOV_IDLE:
        return f"{_SRIOV_STATE}={state}"
    return next((f"{label}={value}" for label, value in node.labels.items() if value.startswith(_PAUSED)), "")
