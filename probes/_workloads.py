"""Pods, what they ask for and how they fare, as plain data of the Kubernetes API (see ``probes._cluster``)."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition of a node or pod: ``status`` is True, False or Unknown as the API writes it."""

    status: str
    reason: str = ""
    message: str = ""
    since: float = 0.0


@dataclass(frozen=True, slots=True)
class ConfigMapVolume:
    """A ConfigMap as a pod mounts it. ``files`` maps a key to its file name; empty: each key is a file of its name."""

    name: str
    files: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ContainerSpec:
    """One container as asked for. Quantities are whole; ``malformed`` holds what is no whole number, as written."""

    name: str
    image: str
    arguments: tuple[str, ...] = ()
    requests: Mapping[str, int] = field(default_factory=dict)
    limits: Mapping[str, int] = field(default_factory=dict)
    malformed: Mapping[str, str] = field(default_factory=dict)
    claims: tuple[str, ...] = ()
    privileged: bool = False
    init: bool = False


@dataclass(frozen=True, slots=True)
class PodSpec:
    """What a pod, or the template of a DaemonSet, asks for. ``arguments`` of a container are command and args.

    ``host_mounts`` are the node's paths by where a container, other than an init container, has them.
    """

    containers: tuple[ContainerSpec, ...] = ()
    host_paths: tuple[str, ...] = ()
    config_maps: tuple[ConfigMapVolume, ...] = ()
    node_selector: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    host_network: bool = False
    service_account: str = ""
    scheduler: str = ""
    host_mounts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DaemonSet:
    """One DaemonSet. Counts are those of its status; a pod that is Ready only proves that a process was started.

    ``owner`` is the object that made it, as "NicClusterPolicy/name"; empty for none.
    """

    namespace: str
    name: str
    spec: PodSpec
    generation: int = 0
    observed_generation: int = 0
    desired: int = 0
    ready: int = 0
    updated: int = 0
    misscheduled: int = 0
    owner: str = ""

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class ContainerState:
    """How one container fares. ``waiting`` and ``terminated`` are reasons such as CrashLoopBackOff, or empty.

    ``started`` is when it was, Unix seconds; where it does not run, ``ended`` is when that run was over. 0: not told.
    """

    name: str
    ready: bool = False
    restarts: int = 0
    started: float = 0.0
    waiting: str = ""
    terminated: str = ""
    message: str = ""
    exit_status: int | None = None
    ended: float = 0.0
    init: bool = False


@dataclass(frozen=True, slots=True)
class Pod:
    """One pod. ``owner`` is "DaemonSet/name"; ``annotations`` are kept for attachments and devices only."""

    namespace: str
    name: str
    uid: str
    node: str = ""
    phase: str = ""
    reason: str = ""
    message: str = ""
    created: float = 0.0
    deleting: bool = False
    owner: str = ""
    spec: PodSpec = field(default_factory=PodSpec)
    conditions: Mapping[str, Condition] = field(default_factory=dict)
    containers: tuple[ContainerState, ...] = ()
    annotations: Mapping[str, str] = field(default_factory=dict)
    addresses: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def ready(self) -> bool:
        """Whether it is Ready and is not going away."""
        return not self.deleting and self.conditions.get("Ready", Condition("False")).status == "True"


@dataclass(frozen=True, slots=True)
class ConfigMap:
    """One ConfigMap that a device plugin mounts. ``changed`` is its last change, as its managed fields tell."""

    namespace: str
    name: str
    data: Mapping[str, str]
    changed: float = 0.0


@dataclass(frozen=True, slots=True)
class Event:
    """One event about a pod or node. Events are best effort: their absence proves nothing."""

    kind: str
    namespace: str
    name: str
    reason: str
    message: str
    uid: str = ""
    source: str = ""
    warning: bool = False
    count: int = 1
    last: float = 0.0
