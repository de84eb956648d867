"""What a gate knows at one moment, as far as it decides where test pods are made."""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from exporter.assignment import Claim
from exporter.plan import Plan
from exporter.settings import KnownMember
from probes._cluster import KubeNode


@dataclass(frozen=True, slots=True)
class Moment:
    """What the gate knows now. ``nodes`` are those of each pool, ``cluster`` the API's facts on them by name.

    ``leads`` says that this gate may make pods at all, ``halted`` why there may be none now, as a phrase. ``lacking``
    are nodes without pod for which a test waits, each with those whose pods wait with it, if there are any. ``visible``
    is when a node's visibility last came to be open, in Unix seconds.
    """

    plan: Plan
    claim: Claim
    leads: bool
    halted: str = ""
    members: tuple[KnownMember, ...] = ()
    nodes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    cluster: Mapping[str, KubeNode] = field(default_factory=dict)
    lacking: Mapping[str, AbstractSet[str]] = field(default_factory=dict)
    visible: Mapping[str, float] = field(default_factory=dict)
