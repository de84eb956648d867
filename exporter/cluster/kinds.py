"""What is read of the API: one line for each kind of object, and the verbs that reading it takes (list and watch).

Without the permission for one of them the rest goes on, and what it would have told is "unread", never "none".
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from exporter.cluster.read import nodes as read_nodes
from exporter.cluster.read import operators as read_operators
from exporter.cluster.read import others, pods
from exporter.cluster.wire import daemon_sets, dra, endpoints, events, operators
from exporter.cluster.wire import nodes as wire_nodes
from exporter.cluster.wire import pods as wire_pods
from probes import _cluster as facts
from probes import _workloads as workloads

F = TypeVar("F")


@dataclass(frozen=True)
class Kind(Generic[F]):
    """One kind: ``resource`` as RBAC and probes name it ("daemonsets.apps"), ``versions`` of its API, best first.

    ``read`` makes a fact of a decoded object, given the fact before it (None: new) and the gate's time. An
    ``optional`` kind need not exist in a cluster. ``page`` is how many objects are asked for at once.
    """

    resource: str
    versions: tuple[str, ...]
    wire: type[Any]
    read: Callable[[Any, F | None, float], F]
    optional: bool = False
    page: int = 200

    @property
    def plural(self) -> str:
        """The word in the path."""
        return self.resource.partition(".")[0]


@dataclass(frozen=True)
class Found:
    """A DaemonSet with the selector of its pods."""

    fact: workloads.DaemonSet
    selector: str


def _alone(read: Callable[[Any], F]) -> Callable[[Any, F | None, float], F]:
    return lambda found, before, now: read(found)


def _daemon_set(found: daemon_sets.DaemonSet) -> Found:
    return Found(pods.read_daemon_set(found), pods.selector_text(found.spec.selector))


_DRA = ("/apis/resource.k8s.io/v1", "/apis/resource.k8s.io/v1beta2", "/apis/resource.k8s.io/v1beta1")
_NVIDIA = ("/apis/mellanox.com/v1alpha1",)
_CORE = ("/api/v1",)

NODES = Kind[facts.KubeNode]("nodes", _CORE, wire_nodes.Node, read_nodes.read_node)
DAEMON_SETS = Kind[Found]("daemonsets.apps", ("/apis/apps/v1",), daemon_sets.DaemonSet, _alone(_daemon_set))
PODS = Kind[workloads.Pod]("pods", _CORE, wire_pods.Pod, _alone(pods.read_pod))
EVENTS = Kind[workloads.Event]("events", _CORE, events.Event, _alone(others.read_event))
SLICES = Kind[facts.ResourceSlice](
    "resourceslices.resource.k8s.io", _DRA, dra.ResourceSlice, _alone(others.read_slice), optional=True, page=100
)
CLAIMS = Kind[facts.ResourceClaim](
    "resourceclaims.resource.k8s.io", _DRA, dra.ResourceClaim, _alone(others.read_claim), optional=True
)
CLASSES = Kind[facts.DeviceClass](
    "deviceclasses.resource.k8s.io", _DRA, dra.DeviceClass, _alone(others.read_class), optional=True
)
ATTACHMENTS = Kind[facts.NetworkAttachment](
    "network-attachment-definitions.k8s.cni.cncf.io",
    ("/apis/k8s.cni.cncf.io/v1",),
    operators.Attachment,
    _alone(read_operators.read_attachment),
    optional=True,
)
CLUSTER_POLICIES = Kind[facts.NicPolicy](
    "nicclusterpolicies.mellanox.com", _NVIDIA, operators.NicPolicy, _alone(read_operators.read_policy), optional=True
)
NODE_POLICIES = Kind[facts.NicPolicy](
    "nicnodepolicies.mellanox.com", _NVIDIA, operators.NicPolicy, _alone(read_operators.read_policy), optional=True
)
SRIOV_STATES = Kind[facts.SriovNodeState](
    "sriovnetworknodestates.sriovnetwork.openshift.io",
    ("/apis/sriovnetwork.openshift.io/v1",),
    operators.SriovNodeState,
    _alone(read_operators.read_sriov_state),
    optional=True,
    page=50,
)
SRIOV_POLICIES = Kind[facts.SriovPolicy](
    "sriovnetworknodepolicies.sriovnetwork.openshift.io",
    ("/apis/sriovnetwork.openshift.io/v1",),
    operators.SriovPolicy,
    _alone(read_operators.read_sriov_policy),
    optional=True,
)
ENDPOINT_SLICES = Kind[endpoints.EndpointSlice](
    "endpointslices.discovery.k8s.io",
    ("/apis/discovery.k8s.io/v1",),
    endpoints.EndpointSlice,
    _alone(lambda found: found),
)
