"""What a node is to do, as the gate hands it out: every number in base units, every name resolved.

These types travel as JSON (msgspec) from gate to node and are kept on the node's disk. They import nothing heavy,
because the node role loads them at start.
"""

from typing import Any

import msgspec

from probes import HcaClass
from probes._targets import Target


class ProbeSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One planned probe: its registry name, its id (the name unless given) and its settings as the Probe's fields."""

    probe: str
    id: str
    settings: dict[str, Any] = {}
    every_seconds: float = 60.0
    fresh_seconds: float = 210.0
    limit_seconds: float = 30.0
    targets: tuple[Target, ...] = ()


POD_SUFFIX = "@pod"


def pod_id(run_id: str) -> str:
    """Return the id under which a test pod reports that run; no id of a plan has an "@"."""
    return f"{run_id}{POD_SUFFIX}"


def of_pod_id(run_id: str) -> str:
    """Return the id in the plan of a test pod's run."""
    return run_id.removesuffix(POD_SUFFIX)


def is_pod_id(run_id: str) -> bool:
    """Whether that is the id of a test pod's run."""
    return run_id.endswith(POD_SUFFIX)


class Member(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One node: ``url`` is its management address, ``addresses`` the test address of each HCA (or ``""`` for all)."""

    name: str
    url: str = ""
    addresses: dict[str, str] = {}


class Budget(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How much testing may disturb. ``port_busy_share`` is of the port's rate, over the last second."""

    tests_enabled: bool = False
    bytes_per_node_per_hour: int = 10 * 2**30
    tests_per_node: int = 1
    tests_at_once: int = 1
    port_busy_share: float = 0.01


class Claim(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """In whose name a node is asked: a gate's id and its term as leader; a person with the key names no gate."""

    gate: str = ""
    term: int = 0


class Assignment(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The work of one node. ``tests`` are the path probes that the gate may run through this node's endpoints.

    ``gate`` is the id of the gate that hands it out, empty where a person does.
    """

    cluster: str
    node: str
    pool: str
    plan_digest: str
    reviewed: bool = False
    term: int = 0
    gate: str = ""
    hcas: dict[str, HcaClass] = {}
    probes: tuple[ProbeSpec, ...] = ()
    tests: tuple[ProbeSpec, ...] = ()
    members: tuple[Member, ...] = ()
    budget: Budget = Budget()

    @property
    def claim(self) -> Claim:
        """In whose name it is handed out."""
        return Claim(self.gate, self.term)
