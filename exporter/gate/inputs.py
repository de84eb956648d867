"""Everything a verdict rests on, gathered before it is made."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from exporter import registry
from exporter.gate.blame import Told
from exporter.gate.changes import Histories
from exporter.gate.decisions import Decisions
from exporter.ledger import Key, Record
from exporter.plan import Plan
from probes import Check, Reason


class MemberState(StrEnum):
    """What the gate can say about a node's management interface. Only REACHABLE lets a node be open."""

    REACHABLE = "reachable"
    SILENT = "silent"
    MISSING = "missing"
    UNKNOWN = "unknown"
    REFUSED = "refused"
    MAINTENANCE = "maintenance"


@dataclass(frozen=True, slots=True)
class GateNode:
    """One expected node. ``heard`` is its last answer in Unix seconds (0: none); ``detail`` explains the state.

    ``boot_id`` is that of now, where it is known from elsewhere than its runs.
    """

    name: str
    pool: str
    state: MemberState
    heard: float = 0.0
    detail: str = ""
    boot_id: str = ""


@dataclass(frozen=True, slots=True)
class GatePath:
    """One expected ordered path; ``target`` is its name in runs. ``hcas`` is the class of its HCAs, empty: any test."""

    target: str
    client: str
    client_device: str
    server: str
    server_device: str
    pool: str
    path_class: str = ""
    rail: str = ""
    hcas: str = ""

    def peer_of(self, node: str) -> str:
        """The other end's node."""
        return self.server if node == self.client else self.client

    def device_of(self, node: str) -> str:
        """The HCA of this end."""
        return self.client_device if node == self.client else self.server_device


@dataclass(frozen=True, slots=True)
class GateGroup:
    """One group of nodes that is expected to run the collective test ``id`` next; ``target`` is its name in runs."""

    target: str
    name: str
    nodes: tuple[str, ...]
    pool: str
    id: str


@dataclass(frozen=True)
class GateInputs:
    """``records`` are the last runs, ``now`` the gate's clock in Unix seconds, ``paused`` who paused testing.

    ``plan`` None with ``plan_problem`` empty means that there is none. ``pod_checks`` are those that only a run from
    inside a pod can pass (in Kubernetes). ``told`` is what the verdict before this one laid at one end.
    """

    plan: Plan | None
    records: Mapping[Key, Record]
    nodes: tuple[GateNode, ...]
    now: float
    program_version: str
    paths: tuple[GatePath, ...] = ()
    groups: tuple[GateGroup, ...] = ()
    decisions: Decisions = field(default_factory=Decisions)
    histories: Histories = field(default_factory=dict)
    plan_problem: str = ""
    paused: str = ""
    cluster: str = ""
    pod_checks: frozenset[str] = frozenset()
    told: Told = field(default_factory=dict)
    checks: Mapping[str, Check] = field(default_factory=registry.checks)
    reason_of: Callable[[str, str], Reason] = registry.reason_of
