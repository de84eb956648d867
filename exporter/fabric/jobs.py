"""One test whose turn has come, on a path or in a group of nodes: which nodes it keeps busy, and how it is run."""

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from typing import Protocol

from exporter import registry
from exporter.assignment import Claim, ProbeSpec
from exporter.fabric.expected import ExpectedPath, PathEnd
from exporter.fabric.groups import ExpectedGroup
from exporter.fabric.held import NodeSlots
from exporter.fabric.runs import run_group, run_path
from exporter.gate.group_results import facts_of_group
from exporter.observe import RunContext
from exporter.plan import Pool
from probes import Finding, Run
from probes._endpoint import Endpoint, Path
from probes._group import Group, GroupEndpoint

Slots = AbstractAsyncContextManager[None]


class Reach(Protocol):
    """How tests reach the nodes, and in whose name."""

    @property
    def claim(self) -> Claim:
        """The gate and its term as leader, as they are now."""

    def slots(self, node: str) -> NodeSlots:
        """Return the slots of a node."""

    def endpoint(self, end: PathEnd, lease: str) -> Endpoint:
        """Return an endpoint for a node's HCA, for tests in that lease's slot."""

    def group_endpoint(self, node: str, lease: str) -> GroupEndpoint:
        """Return an endpoint for a node's part of collectives, in that lease's slot."""

    def absent(self, node: str) -> str:
        """Say why the node has no end of tests now, though it is to have one; empty where it has."""

    def end(self, node: str) -> str:
        """Name what tests on the node run in now. Another name is another end."""


@dataclass(frozen=True, slots=True)
class Work:
    """What each run needs beside its job: the nodes, what every run carries, and the time."""

    reach: Reach
    context: RunContext
    clock: Callable[[], float]


@dataclass(frozen=True, slots=True)
class PathJob:
    """One test of one pool on one path."""

    pool: Pool
    spec: ProbeSpec
    path: ExpectedPath

    @property
    def target(self) -> str:
        """The path in runs."""
        return self.path.target

    @property
    def nodes(self) -> frozenset[str]:
        """The nodes that it keeps busy."""
        return self.path.nodes

    async def run(self, work: Work, slots: Slots, lease: str) -> Run:
        """Run it once, in the slots of that lease."""
        client, server = (work.reach.endpoint(end, lease) for end in (self.path.client, self.path.server))
        path = Path(client, server, rail=self.path.client.rail, path_class=self.path.path_class)
        probe = registry.build(self.spec)
        return await run_path(probe, path, self.spec, work.context, clock=work.clock, slots=slots)


@dataclass(frozen=True, slots=True)
class GroupJob:
    """One collective test of one pool in one group. ``searches``: only to find out which node is to blame."""

    pool: Pool
    spec: ProbeSpec
    group: ExpectedGroup
    searches: bool

    @property
    def target(self) -> str:
        """The group in runs."""
        return self.group.target

    @property
    def nodes(self) -> frozenset[str]:
        """The nodes that it keeps busy."""
        return frozenset(self.group.nodes)

    async def run(self, work: Work, slots: Slots, lease: str) -> Run:
        """Run it once, in the slots of that lease."""
        ends = tuple(work.reach.group_endpoint(node, lease) for node in self.group.nodes)
        group = Group(self.group.name, ends, self.group.ranks_per_node)
        probe = registry.build(self.spec)
        run = await run_group(probe, group, self.spec, work.context, clock=work.clock, slots=slots)
        facts = facts_of_group(group.name, self.group.nodes, group.ranks, searches=self.searches)
        return replace(run, target=self.target, findings=tuple(self._placed(one, facts) for one in run.findings))

    def _placed(self, finding: Finding, facts: Mapping[str, str]) -> Finding:
        # A target is agreed for the planned groups; another number of ranks has other bandwidths.
        measured = () if self.searches else finding.measured
        return replace(finding, facts={**finding.facts, **facts}, measured=measured)


Job = PathJob | GroupJob
