"""A gate in a Kubernetes cluster: its nodes are the cluster's, one gate leads, and the cluster is probed as well."""

import asyncio
import secrets
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from exporter import registry
from exporter.assignment import Claim
from exporter.clock import Clock
from exporter.cluster import agentless
from exporter.cluster.configuration import configure_by
from exporter.cluster.connection import Connection
from exporter.cluster.departures import Departures
from exporter.cluster.election import Election, Leadership
from exporter.cluster.facts import ClusterFacts
from exporter.cluster.maintenance import maintenance_of
from exporter.cluster.membership import Membership
from exporter.cluster.own_url import own_url
from exporter.cluster.probe_loop import ClusterProbes, PlannedProbe
from exporter.fabric.node_client import Address
from exporter.gate.inputs import GateNode, MemberState
from exporter.gate.verdict import Verdict
from exporter.keys import node_key
from exporter.ledger import Ledger
from exporter.outward.outward import Outward
from exporter.plan import Plan
from exporter.plan.membership import pool_nodes
from exporter.plan.pod_digest import pod_digest
from exporter.pods.rounds import PodTests
from exporter.program.node import run_context
from exporter.settings import KnownMember, KubernetesSettings, Settings
from probes._workloads import DaemonSet
from probes.visibility._plugins import is_plugin

SETTLE_SECONDS = 0.5
LOOK_EVERY_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class _Seen:
    members: tuple[KnownMember, ...] = ()
    agentless: frozenset[str] = frozenset()
    leadership: Leadership | None = None
    out_of_service: Mapping[str, str] | None = None
    problems: tuple[str, ...] = ()


class InCluster:
    """What a gate has of its cluster. ``plan`` and ``known`` are the gate's plan and all its members, as of now."""

    def __init__(
        self,
        settings: Settings,
        kubernetes: KubernetesSettings,
        ledger: Ledger,
        clock: Clock,
        environment: Mapping[str, str],
    ) -> None:
        self.changed: Callable[[], None] = lambda: None
        self.plan: Callable[[], Plan | None] = lambda: None
        self.known: Callable[[], tuple[KnownMember, ...]] = tuple
        self.pods: PodTests | None = None
        self._clock = clock
        self._settings, self._environment = settings, environment
        self.connection = self._connection = Connection(configure_by(kubernetes, environment), clock.monotonic)
        self.facts = ClusterFacts(self._connection, kubernetes, clock, is_plugin=_looks_like_plugin)
        self._membership = Membership(self._connection, kubernetes, clock, self._move)
        identity = f"{settings.node}_{secrets.token_hex(8)}"
        place = kubernetes.namespace, kubernetes.lease
        self._election = Election(self._connection, place, identity, clock, self._move)
        context = run_context(settings)
        self._probes = ClusterProbes(self.facts, ledger, context, registry.probes(), self._planned, clock)
        leads = lambda: self.leadership.is_leader  # noqa: E731
        self._outward = Outward(self._connection, kubernetes, clock, self.facts.nodes, leads, settings.node)
        self._departures = Departures(clock.monotonic)
        self._moved = asyncio.Event()
        self._seen = _Seen()
        self.facts.listen(self._move)

    @property
    def members(self) -> tuple[KnownMember, ...]:
        """The nodes that run rdma-gate, or should by the plan, with the labels of their Node objects."""
        return self._seen.members

    @property
    def leadership(self) -> Leadership:
        """Who leads, at this very moment."""
        return self._election.leadership

    @property
    def standby(self) -> str:
        """Why this gate does nothing now, as a phrase; empty while it leads."""
        now = self.leadership
        if now.is_leader:
            return ""
        return f"standby: {now.problem}" if now.problem else f"standby: {now.holder or 'nobody yet'} leads"

    @property
    def problems(self) -> tuple[str, ...]:
        """What of the cluster cannot be read, a sentence each."""
        pods = (f"kubernetes: {self.pods.problem}",) if self.pods and self.pods.problem else ()
        return (*self._seen.problems, *self._outward.problems, *pods)

    def show(self, verdict: Verdict) -> None:
        """Tell the cluster of this verdict, as far as the settings ask for it."""
        self._outward.show(verdict)

    def judged(self, node: GateNode) -> GateNode:
        """Return the node as the cluster knows it: out of service by will is maintenance, gone is missing."""
        if why := (self._seen.out_of_service or {}).get(node.name, ""):
            return replace(node, state=MemberState.MAINTENANCE, detail=why)
        if why := self._departures.why(node.name):
            return replace(node, state=MemberState.MISSING, detail=why)
        # The settings may name a member that the Service does not.
        if node.state is MemberState.MISSING and node.name in self._seen.agentless:
            return replace(node, detail=agentless.WHY)
        return node

    def forget_departed(self) -> None:
        """Expect those nodes no longer that are not in the cluster now."""
        self._departures.forget()
        self._move()

    def claim(self, before: Claim) -> tuple[Claim, bool]:
        """Return in whose name nodes are asked from now on, and whether this gate may ask them at all.

        What is planned is looked at again, too.
        """
        self._probes.wake()
        now = self.leadership
        return (Claim(before.gate, now.term), True) if now.is_leader else (before, False)

    def predecessor(self, master: bytes) -> Address | None:
        """Return where the gate that leads answers; None while that is this one, or cannot be told."""
        now = self.leadership
        if now.is_leader or not now.url or not now.holder or not master:
            return None
        node = now.holder.rpartition("_")[0]
        return Address(node, now.url, node_key(master, node))

    async def run(self) -> None:
        """Read, be a candidate, and probe until cancelled; the Lease is then given back."""
        self._election.url = await asyncio.to_thread(own_url, self._settings, self._environment)
        try:
            async with asyncio.TaskGroup() as tasks:
                for name, action in (
                    ("facts", self.facts.run),
                    ("members", self._membership.run),
                    ("lease", self._election.run),
                    ("probes", self._probes.run),
                    ("news", self._tell_forever),
                    ("outward", self._outward.run),
                ):
                    tasks.create_task(action(), name=f"kubernetes {name}")
                if self.pods is not None:
                    tasks.create_task(self.pods.run(), name="kubernetes test pods")
        finally:
            await self._connection.close()

    async def _tell_forever(self) -> None:
        """Tell what is other than before; news come in bursts, and are told together."""
        while True:
            self._moved.clear()
            before, self._seen = self._seen, self._look()
            if self._seen != before:
                self.changed()
            await self._clock.wait(self._moved, LOOK_EVERY_SECONDS)
            if self._election.leadership == self._seen.leadership:
                await self._clock.wait(asyncio.Event(), SETTLE_SECONDS)

    def _look(self) -> _Seen:
        nodes = self.facts.nodes()
        reasons = {name: maintenance_of(node) for name, node in nodes.items()}
        members_unread = self._membership.unread
        unread = (*self.facts.unread(), *((members_unread,) if members_unread else ()))
        members = self._departures.follow(self._membership.members(nodes), nodes)
        # Before the Service was read no node has a pod.
        without = agentless.agentless(self.plan(), members, nodes) if self._membership.synced else ()
        return _Seen(
            members=(*members, *without),
            agentless=frozenset(one.name for one in without),
            leadership=self._election.leadership,
            out_of_service={name: why for name, why in reasons.items() if why},
            problems=tuple(f"kubernetes: {one}" for one in unread),
        )

    def _move(self) -> None:
        self._moved.set()

    def _planned(self) -> Iterator[PlannedProbe]:
        plan, modules = self.plan(), registry.probes()
        if plan is None or not self.leadership.is_leader:
            return
        nodes = pool_nodes(plan, self.known())
        for pool in plan.pools:
            of_pods = pod_digest(pool)
            for spec in pool.probes:
                if spec.probe in modules and modules[spec.probe].kind == "cluster":
                    yield PlannedProbe(pool.name, spec, nodes[pool.name], plan.digest, of_pods)


def _looks_like_plugin(found: DaemonSet) -> bool:
    return is_plugin(found.spec, found.name)
