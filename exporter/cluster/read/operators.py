"""What operators wrote about NICs becomes facts."""

from collections import Counter
from collections.abc import Iterator

from exporter.cluster.wire import operators
from probes._cluster import NetworkAttachment, NicPolicy, SriovNodeState, SriovPolicy

RESOURCE_ANNOTATION = "k8s.v1.cni.cncf.io/resourceName"


def read_policy(policy: operators.NicPolicy) -> NicPolicy:
    """Return the policy with the plugins' settings as they were written."""
    plugins = {
        "rdmaSharedDevicePlugin": policy.spec.rdma_shared_device_plugin,
        "sriovDevicePlugin": policy.spec.sriov_device_plugin,
    }
    return NicPolicy(
        kind=policy.kind,
        name=policy.metadata.name,
        state=policy.status.state,
        reason=policy.status.reason,
        configs={name: plugin.config for name, plugin in plugins.items() if plugin and plugin.config},
        states={one.name: one.state for one in policy.status.applied_states or ()},
        node_selector=policy.spec.node_selector or {},
    )


def read_sriov_state(state: operators.SriovNodeState) -> SriovNodeState:
    """Return the node's state; its name is the node's."""
    wanted: Counter[str] = Counter()
    for interface in state.spec.interfaces or ():
        for group in interface.vf_groups or ():
            wanted[group.resource_name] += sum(_lengths(group.vf_range))
    return SriovNodeState(
        node=state.metadata.name,
        sync_status=state.status.sync_status,
        error=state.status.last_sync_error,
        wanted=dict(wanted),
        present=sum(len(one.functions or ()) for one in state.status.interfaces or ()),
    )


def read_sriov_policy(policy: operators.SriovPolicy) -> SriovPolicy:
    """Return the policy; the operator's own empty one wants nothing."""
    spec = policy.spec
    return SriovPolicy(policy.metadata.name, spec.resource_name, spec.num_vfs, spec.node_selector or {})


def read_attachment(found: operators.Attachment) -> NetworkAttachment:
    """Return the attachment and the resource that it is bound to."""
    meta = found.metadata
    resource = (meta.annotations or {}).get(RESOURCE_ANNOTATION, "")
    return NetworkAttachment(meta.namespace, meta.name, resource, found.spec.config)


def _lengths(ranges: str) -> Iterator[int]:
    for part in ranges.split(","):
        first, _, last = part.partition("-")
        if first.isdigit() and (last or first).isdigit():
            yield int(last or first) - int(first) + 1
