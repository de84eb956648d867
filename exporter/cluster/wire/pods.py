"""Pods, and how their containers fare."""

import msgspec

from exporter.cluster.wire.meta import Condition, Meta
from exporter.cluster.wire.pod_specs import PodSpec


class Waiting(msgspec.Struct, frozen=True):
    """Why a container does not run yet."""

    reason: str = ""
    message: str = ""


class Running(msgspec.Struct, frozen=True, rename="camel"):
    """Since when it runs."""

    started_at: str | None = None


class Terminated(msgspec.Struct, frozen=True, rename="camel"):
    """How it ended."""

    reason: str = ""
    message: str = ""
    exit_code: int | None = None
    started_at: str | None = None
    finished_at: str | None = None


class State(msgspec.Struct, frozen=True):
    """One of the three."""

    waiting: Waiting | None = None
    running: Running | None = None
    terminated: Terminated | None = None


class ContainerStatus(msgspec.Struct, frozen=True, rename="camel"):
    """One container's status."""

    name: str = ""
    ready: bool = False
    restart_count: int = 0
    state: State = State()
    last_state: State = State()


class Ip(msgspec.Struct, frozen=True):
    """One address of a pod."""

    ip: str = ""


class PodStatus(msgspec.Struct, frozen=True):
    """A pod's status."""

    phase: str = ""
    reason: str = ""
    message: str = ""
    conditions: tuple[Condition, ...] | None = None
    containers: tuple[ContainerStatus, ...] | None = msgspec.field(name="containerStatuses", default=None)
    init_containers: tuple[ContainerStatus, ...] | None = msgspec.field(name="initContainerStatuses", default=None)
    ips: tuple[Ip, ...] | None = msgspec.field(name="podIPs", default=None)


class Pod(msgspec.Struct, frozen=True):
    """One Pod."""

    metadata: Meta = Meta()
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()
