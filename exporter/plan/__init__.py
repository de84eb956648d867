"""The plan: what must be true of a cluster, as people agreed and reviewed it. Here are its values, ready for use.

Every quantity is in base units and every name is resolved; ``exporter.plan.load`` makes a Plan of the YAML file.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from exporter.assignment import Budget, ProbeSpec
from probes import HcaClass


@dataclass(frozen=True, slots=True)
class Review:
    """Who reviewed the plan, when (ISO date) and where that can be looked up."""

    by: str
    on: str
    ref: str


@dataclass(frozen=True, slots=True)
class Nodes:
    """Which nodes a pool has: by name, or by a label selector. ``at_least`` 0 means that each of them must be open."""

    names: tuple[str, ...] = ()
    selector: str = ""
    at_least: int = 0


@dataclass(frozen=True, slots=True)
class PlannedPods:
    """Test pods of a pool's workload: one of ``template`` (a manifest as plain data) on each node, every so often.

    ``limit_seconds`` is how long one may live, ``hold_seconds`` how long it stays an end of path tests after it has
    reported, ``at_once`` how many of the pool there may be. ``labels`` are added to each.
    """

    namespace: str
    template: Mapping[str, Any] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    every_seconds: float = 21600.0
    limit_seconds: float = 600.0
    hold_seconds: float = 0.0
    at_once: int = 1


@dataclass(frozen=True, slots=True)
class PlannedGroups:
    """Groups of nodes: ``named`` ones, or of ``nodes_per_group`` that take turns, or (0) one of the whole pool."""

    ranks_per_node: int
    nodes_per_group: int = 0
    named: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class GroupTest:
    """One collective test, and the groups of nodes that it runs in."""

    spec: ProbeSpec
    groups: PlannedGroups


@dataclass(frozen=True, slots=True)
class Pool:
    """Nodes of one kind. ``probes`` are passive, ``tests`` run on paths between them, ``group_tests`` in groups."""

    name: str
    nodes: Nodes
    hcas: Mapping[str, HcaClass] = field(default_factory=dict)
    probes: tuple[ProbeSpec, ...] = ()
    tests: tuple[ProbeSpec, ...] = ()
    test_pods: PlannedPods | None = None
    group_tests: tuple[GroupTest, ...] = ()

    @property
    def every_test(self) -> tuple[ProbeSpec, ...]:
        """The tests of paths and those of groups."""
        return (*self.tests, *(one.spec for one in self.group_tests))


@dataclass(frozen=True, slots=True)
class PathMode:
    """How the paths of a class are chosen: every_pair, sampled, one_per_rail_pair or per_rack_pair."""

    mode: str
    peers_per_hca: int = 2
    samples: int = 1


@dataclass(frozen=True, slots=True)
class Plan:
    """The whole plan. ``digest`` is the SHA-256 of its canonical JSON; ``rack_label`` names the label with the rack.

    ``paths`` maps same_rail, cross_rail and cross_rack to their mode. ``reviewed`` is None for an unreviewed plan.
    """

    cluster: str
    pools: tuple[Pool, ...]
    paths: Mapping[str, PathMode] = field(default_factory=dict)
    budget: Budget = field(default_factory=Budget)
    reviewed: Review | None = None
    rack_label: str = ""
    digest: str = ""


class PlanError(Exception):
    """The plan cannot be used; ``lines`` are all its mistakes, each with its line and place."""

    def __init__(self, lines: tuple[str, ...]) -> None:
        super().__init__("\n".join(lines))
        self.lines = lines
