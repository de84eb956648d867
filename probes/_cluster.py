"""What the gate has read from the Kubernetes API, as plain data: what a probe of kind ``cluster`` judges.

Nothing here asks the API. The gate keeps these facts by watches and hands a probe one frozen ``Cluster``; the probe
gives at least one finding for each name in ``Cluster.judged``, also when it could not tell. Quantities are whole
numbers ("1k" is 1000), times are Unix seconds of the API server unless said otherwise, and an absent fact is empty.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from probes import NO_LABELS, ProbeError
from probes._node_reading import NodeReading
from probes._pod_allocation import AllocationSample
from probes._workloads import Condition, ConfigMap, DaemonSet, Event, Pod


@dataclass(frozen=True, slots=True)
class Taint:
    """One taint of a node."""

    key: str
    value: str
    effect: str


@dataclass(frozen=True, slots=True)
class ExtendedResource:
    """What a node's status says of one extended resource. ``since`` is when the gate first saw these two numbers.

    ``capacity`` counts the healthy and unhealthy devices, ``allocatable`` the healthy ones; neither subtracts what is
    in use. A zero that the kubelet left behind looks like one that is wanted: only the plan and the plugin can tell.
    """

    capacity: int
    allocatable: int
    since: float


@dataclass(frozen=True, slots=True)
class KubeNode:
    """One Node object. ``resources`` are the extended resources alone, by their full name.

    ``annotations`` are kept where they tell of maintenance only.
    """

    name: str
    uid: str
    labels: Mapping[str, str] = field(default_factory=lambda: NO_LABELS)
    unschedulable: bool = False
    deleting: bool = False
    taints: tuple[Taint, ...] = ()
    conditions: Mapping[str, Condition] = field(default_factory=dict)
    resources: Mapping[str, ExtendedResource] = field(default_factory=dict)
    internal_address: str = ""
    boot_id: str = ""
    kubelet_version: str = ""
    annotations: Mapping[str, str] = field(default_factory=lambda: NO_LABELS)

    @property
    def ready(self) -> bool:
        """Whether the kubelet says so now."""
        return self.conditions.get("Ready", Condition("Unknown")).status == "True"


@dataclass(frozen=True, slots=True)
class SliceDevice:
    """One device of a ResourceSlice. ``attributes`` are written as text under their full names."""

    name: str
    attributes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ResourceSlice:
    """What a DRA driver offers on one node (``node`` is empty for devices that no one node has)."""

    name: str
    driver: str
    pool: str
    node: str
    devices: tuple[SliceDevice, ...] = ()


@dataclass(frozen=True, slots=True)
class AllocatedDevice:
    """One device that a claim was given."""

    request: str
    driver: str
    pool: str
    device: str


@dataclass(frozen=True, slots=True)
class ResourceClaim:
    """One DRA claim. ``reserved_for`` are pod UIDs."""

    namespace: str
    name: str
    uid: str
    devices: tuple[AllocatedDevice, ...] = ()
    reserved_for: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SriovNodeState:
    """What the SR-IOV operator made of one node (SriovNetworkNodeState).

    ``wanted`` is the number of functions by resource name, without its prefix, from ``spec.interfaces[].vfGroups``;
    ``present`` counts the virtual functions that the status lists. ``sync_status`` is Succeeded, InProgress or Failed.
    """

    node: str
    sync_status: str
    error: str = ""
    wanted: Mapping[str, int] = field(default_factory=dict)
    present: int = 0


@dataclass(frozen=True, slots=True)
class SriovPolicy:
    """One SriovNetworkNodePolicy: so many ``functions`` as ``resource`` (without a prefix) on nodes with the labels."""

    name: str
    resource: str
    functions: int = 0
    node_selector: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DeviceClass:
    """A DRA class of devices: its CEL conditions, and the extended resource that it stands for, if any."""

    name: str
    conditions: tuple[str, ...] = ()
    extended_resource: str = ""


@dataclass(frozen=True, slots=True)
class NetworkAttachment:
    """A NetworkAttachmentDefinition: ``resource`` is the one that it is bound to, ``config`` CNI's JSON as text."""

    namespace: str
    name: str
    resource: str = ""
    config: str = ""


@dataclass(frozen=True, slots=True)
class NicPolicy:
    """A NicClusterPolicy or NicNodePolicy (``kind``) of NVIDIA's network operator.

    ``state`` is ignore, notReady, ready or error. ``configs`` are the plugins' settings, JSON as text, by the plugin's
    field (rdmaSharedDevicePlugin, sriovDevicePlugin); ``states`` say how each component fares.
    """

    kind: str
    name: str
    state: str = ""
    reason: str = ""
    configs: Mapping[str, str] = field(default_factory=dict)
    states: Mapping[str, str] = field(default_factory=dict)
    node_selector: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PodSecurity:
    """The Pod Security levels of a namespace, as its labels name them; empty where they name none.

    What the API server takes for none is its own setting, privileged unless somebody changed it.
    """

    namespace: str
    enforce: str = ""
    audit: str = ""
    warn: str = ""
    version: str = ""


@dataclass(frozen=True, slots=True)
class Unread:
    """What the API refused or did not give. ``reason`` is ``rbac_denied`` or ``api_unreachable``."""

    resource: str
    verb: str
    reason: str
    message: str
    namespace: str = ""

    def __str__(self) -> str:
        where = f" in {self.namespace}" if self.namespace else ""
        return f"{self.verb} {self.resource}{where}: {self.message} found, an answer wanted"


@dataclass(frozen=True, slots=True)
class Cluster:
    """The API's facts at one moment, and the nodes to judge.

    ``judged`` are names of the pool's nodes, also of those that the API does not know. ``now`` is the gate's clock.
    ``plugins`` are the DaemonSets that look like device plugins or DRA drivers, ``plugin_pods`` their pods.
    ``namespaces`` are those of test pods. ``pods_everywhere`` says that ``pods`` holds those of all namespaces, so that
    what is in use can be told. ``readings`` is what the nodes' own agents saw last, by node, ``allocations`` what test
    pods were given there, by node and by the id of the probe that told it. ``unread`` lists what could not be read: its
    facts are then missing, not absent.
    """

    judged: tuple[str, ...]
    now: float
    nodes: Mapping[str, KubeNode] = field(default_factory=dict)
    plugins: tuple[DaemonSet, ...] = ()
    plugin_pods: tuple[Pod, ...] = ()
    config_maps: tuple[ConfigMap, ...] = ()
    pods: tuple[Pod, ...] = ()
    events: tuple[Event, ...] = ()
    slices: tuple[ResourceSlice, ...] = ()
    claims: tuple[ResourceClaim, ...] = ()
    sriov_states: tuple[SriovNodeState, ...] = ()
    sriov_policies: tuple[SriovPolicy, ...] = ()
    device_classes: tuple[DeviceClass, ...] = ()
    attachments: tuple[NetworkAttachment, ...] = ()
    nic_policies: tuple[NicPolicy, ...] = ()
    namespaces: tuple[PodSecurity, ...] = ()
    pods_everywhere: bool = False
    unread: tuple[Unread, ...] = ()
    readings: Mapping[str, NodeReading] = field(default_factory=dict)
    allocations: Mapping[tuple[str, str], AllocationSample] = field(default_factory=dict)

    def need(self, *resources: str) -> None:
        """Raise ProbeError with the missing verb where one of these ("nodes", "daemonsets.apps") could not be read."""
        if missing := self.missing(resources):
            raise ProbeError(missing[0].reason, "; ".join(str(one) for one in missing))

    def missing(self, resources: Iterable[str]) -> tuple[Unread, ...]:
        """Return what of these could not be read."""
        wanted = set(resources)
        return tuple(one for one in self.unread if one.resource in wanted)
