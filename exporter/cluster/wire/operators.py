"""Custom resources of the network operator, the SR-IOV operator and Multus."""

import msgspec

from exporter.cluster.wire.meta import Meta


class Plugin(msgspec.Struct, frozen=True):
    """A device plugin's settings; ``config`` is JSON as text."""

    config: str | None = None


class PolicySpec(msgspec.Struct, frozen=True, rename="camel"):
    """What a policy wants."""

    rdma_shared_device_plugin: Plugin | None = None
    sriov_device_plugin: Plugin | None = None
    node_selector: dict[str, str] | None = None


class AppliedState(msgspec.Struct, frozen=True):
    """How one component fares."""

    name: str = ""
    state: str = ""
    message: str = ""


class PolicyStatus(msgspec.Struct, frozen=True, rename="camel"):
    """What became of it."""

    state: str = ""
    reason: str = ""
    applied_states: tuple[AppliedState, ...] | None = None


class NicPolicy(msgspec.Struct, frozen=True):
    """One NicClusterPolicy or NicNodePolicy."""

    kind: str = ""
    metadata: Meta = Meta()
    spec: PolicySpec = PolicySpec()
    status: PolicyStatus = PolicyStatus()


class VfGroup(msgspec.Struct, frozen=True, rename="camel"):
    """Virtual functions for one resource; ``vf_range`` is as "0-7"."""

    resource_name: str = ""
    vf_range: str = ""


class WantedInterface(msgspec.Struct, frozen=True, rename="camel"):
    """One interface as wanted."""

    vf_groups: tuple[VfGroup, ...] | None = None


class SriovSpec(msgspec.Struct, frozen=True):
    """What the operator wants of a node."""

    interfaces: tuple[WantedInterface, ...] | None = None


class FoundInterface(msgspec.Struct, frozen=True):
    """One interface as found; its functions are counted only."""

    functions: tuple[msgspec.Raw, ...] | None = msgspec.field(name="Vfs", default=None)


class SriovStatus(msgspec.Struct, frozen=True, rename="camel"):
    """What the operator found on it."""

    sync_status: str = ""
    last_sync_error: str = ""
    interfaces: tuple[FoundInterface, ...] | None = None


class SriovNodeState(msgspec.Struct, frozen=True):
    """One SriovNetworkNodeState."""

    metadata: Meta = Meta()
    spec: SriovSpec = SriovSpec()
    status: SriovStatus = SriovStatus()


class SriovPolicySpec(msgspec.Struct, frozen=True, rename="camel"):
    """What a policy wants of the nodes that it selects."""

    resource_name: str = ""
    num_vfs: int = 0
    node_selector: dict[str, str] | None = None


class SriovPolicy(msgspec.Struct, frozen=True):
    """One SriovNetworkNodePolicy."""

    metadata: Meta = Meta()
    spec: SriovPolicySpec = SriovPolicySpec()


class AttachmentSpec(msgspec.Struct, frozen=True):
    """A CNI configuration, JSON as text."""

    config: str = ""


class Attachment(msgspec.Struct, frozen=True):
    """One NetworkAttachmentDefinition."""

    metadata: Meta = Meta()
    spec: AttachmentSpec = AttachmentSpec()
