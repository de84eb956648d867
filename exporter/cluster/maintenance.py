"""A node that somebody takes out of service is in maintenance, not broken: cordoned, drained, deleted, or prepared.

It keeps its place in the pool's denominator; the gate says "maintenance" where it would otherwise say failed.
"""

from collections.abc import Iterator, Mapping

from probes._cluster import KubeNode

SRIOV_STATE = "sriovnetwork.openshift.io/state"
SRIOV_DRAIN = "sriovnetwork.openshift.io/current-state"
ANNOUNCING = (SRIOV_STATE, SRIOV_DRAIN)
_SRIOV_AT_REST = frozenset({"", "Idle"})
_LABELS: Mapping[tuple[str, str], str] = {
    ("network.nvidia.com/operator.mofed.wait", "true"): "its network driver is being loaded",
    ("nvidia.com/gpu-driver-upgrade-state", "drain-required"): "its GPU driver is being upgraded",
    ("nvidia.com/gpu-driver-upgrade-state", "pod-restart-required"): "its GPU driver is being upgraded",
    ("nvidia.com/ofed-driver-upgrade-state", "drain-required"): "its network driver is being upgraded",
    ("nvidia.com/ofed-driver-upgrade-state", "pod-restart-required"): "its network driver is being upgraded",
}
_TAINTS: Mapping[str, str] = {
    "ToBeDeletedByClusterAutoscaler": "the autoscaler removes it",
    "karpenter.sh/disrupted": "Karpenter removes it",
    "karpenter.sh/disruption": "Karpenter removes it",
    "node.kubernetes.io/out-of-service": "out of service",
}


def maintenance_of(node: KubeNode) -> str:
    """Return why the node is out of service by somebody's will, as a phrase; empty when it is not."""
    return ", ".join(dict.fromkeys(reason for reason in _reasons(node) if reason))


def _reasons(node: KubeNode) -> Iterator[str]:
    if node.deleting:
        yield "being deleted"
    if node.unschedulable:
        yield "cordoned"
    for (label, value), reason in _LABELS.items():
        if node.labels.get(label) == value:
            yield reason
    for taint in node.taints:
        yield _TAINTS.get(taint.key, "")
    for name in ANNOUNCING:
        if (state := node.annotations.get(name, "")) not in _SRIOV_AT_REST:
            yield f"the SR-IOV operator says {state}"
