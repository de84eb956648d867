"""How this process runs: which roles, where it listens and keeps its state, and which nodes there are."""

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from probes._burst_settings import BurstSettings

DEFAULT_LISTEN = "127.0.0.1:9842"


class SettingsError(Exception):
    """The settings cannot be used; ``lines`` are all their mistakes, each with its line and place."""

    def __init__(self, lines: tuple[str, ...]) -> None:
        super().__init__("\n".join(lines))
        self.lines = lines


@dataclass(frozen=True, slots=True)
class KnownMember:
    """One node as the gate reaches it. ``addresses`` maps an HCA, or ``""`` for all, to its test address."""

    name: str
    url: str = ""
    addresses: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Environment:
    """What the process was started with; nobody else reads it."""

    variables: Mapping[str, str]
    hostname: str
    is_root: bool


@dataclass(frozen=True, slots=True)
class KubernetesSettings:
    """How a gate reads its cluster. ``namespace`` is its own, where the nodes' Service and the Lease are.

    ``kubeconfig`` None: the pod's service account, mounted at ``service_account``. Device plugins are looked for in
    ``plugin_namespaces`` (empty: all). Facts count until the API has been silent for ``stale_seconds``. Test pods
    take their runner from ``runner_image``; where that is empty none are made.
    ``node_conditions`` and ``events`` have the gate write these, which nothing else here does.
    """

    namespace: str
    service_account: Path
    kubeconfig: Path | None = None
    context: str = ""
    node_service: str = "rdma-gate-nodes"
    lease: str = "rdma-gate"
    plugin_namespaces: tuple[str, ...] = ()
    test_namespaces: tuple[str, ...] = ()
    pods_everywhere: bool = False
    stale_seconds: float = 180.0
    runner_image: str = ""
    test_pod_priority_class: str = "rdma-gate-test"
    node_conditions: bool = False
    events: bool = False


@dataclass(frozen=True)
class Settings:
    """All of it, resolved. Paths are absolute; None where nothing was given. ``every_seconds`` is by probe name.

    ``vantage`` is "pod" in a test pod of a workload, "host" everywhere else.
    """

    node: str
    roles: frozenset[str]
    host: str
    port: int
    state_dir: Path
    plan: Path | None = None
    decisions: Path | None = None
    key_file: Path | None = None
    node_key_file: Path | None = None
    members: tuple[KnownMember, ...] = ()
    pause_file: Path | None = None
    every_seconds: Mapping[str, float] = field(default_factory=dict)
    host_root: Path = Path("/")
    log_level: str = "info"
    vantage: str = "host"
    kubernetes: KubernetesSettings | None = None
    bursts: BurstSettings = field(default_factory=BurstSettings)


def split_listen(listen: str) -> tuple[str, int]:
    """Return host and port of ``127.0.0.1:9842`` or ``[::1]:9842``; port 0 is any free one. ValueError."""
    host, _, port = listen.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not host or not port.isdigit() or int(port) > 65535:
        raise ValueError(f"{listen!r} found, address:port wanted, as in {DEFAULT_LISTEN}")
    return host, int(port)


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach that address."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"
