"""The gate role: follows the nodes, has their paths tested, and decides anew whenever anything it knows has changed."""

import asyncio
import logging
import platform
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from exporter import __version__
from exporter.assignment import Assignment, Claim
from exporter.clock import Clock
from exporter.fabric.last_results import ResultsByTest
from exporter.fabric.samples import Samples
from exporter.fabric.tester import Tester
from exporter.gate.decide import decide
from exporter.gate.explain import Explanation, explain
from exporter.gate.inputs import GateInputs, GateNode
from exporter.gate.snapshot import Taking
from exporter.gate.verdict import Verdict
from exporter.ledger import Ledger, Record
from exporter.metrics.verdict import VerdictMetrics
from exporter.plan import Plan
from exporter.plan.assignments import assignment_for, withdrawal
from exporter.plan.membership import pool_nodes
from exporter.plan.pods import POD_CHECKS
from exporter.program.followed import Followed, known_members
from exporter.program.gate_files import GateFiles, paused_by, set_pause
from exporter.program.gate_id import gate_id
from exporter.program.gate_view import view_of
from exporter.program.kept_histories import KeptHistories
from exporter.program.last_snapshot import LastSnapshot
from exporter.program.loop_first import rest_seconds
from exporter.program.node import NodeRole, run_context
from exporter.program.own_node import OwnNode
from exporter.program.reach import GateReach
from exporter.program.reread import forget_runs_of
from exporter.program.situation import expected, frozen, judge_and_show, situation_of
from exporter.program.succession import Succession
from exporter.settings import KnownMember, Settings
from exporter.view import GateView

if TYPE_CHECKING:
    from exporter.pods.rounds import PodTests
    from exporter.program.in_cluster import InCluster

TERM = 1
DECIDE_EVERY_SECONDS = 1.0

_log = logging.getLogger(__name__)


class GateRole:
    """Plan, decisions, nodes, tests and verdict of one cluster. ``node`` is the node role of this process, if any."""

    def __init__(
        self,
        settings: Settings,
        ledger: Ledger,
        clock: Clock,
        *,
        node: NodeRole | None,
        metrics: VerdictMetrics,
        master_key: bytes = b"",
    ) -> None:
        self.files = GateFiles(settings)
        self.cluster: InCluster | None = None
        self._histories = KeptHistories(settings.state_dir / "histories.json")
        self._last_snapshot = LastSnapshot(settings.state_dir / "last_snapshot")
        self._ledger = ledger
        self._clock = clock
        self._node = node
        self._metrics = metrics
        self.claim = Claim(gate_id(settings), TERM)
        self._own = OwnNode(node) if node else None
        self._results, self._samples = ResultsByTest(), Samples()
        self._followed = Followed(ledger, clock, lambda: self.claim, self._assignment_of, master_key=master_key)
        self._changed = asyncio.Event()
        self.verdict = Verdict("", is_open=False, banner="closed: nothing yet", decided=clock.now(), plan_digest="")
        self.tester = Tester(
            ledger,
            run_context(settings),
            clock=clock,
            reach=GateReach(lambda: self.claim, node, self._followed.client, self._pods),
            situation=lambda: situation_of(self.verdict, self.plan, self.members, self._histories.now, self.paused),
        )
        leader = lambda: self.cluster.predecessor(master_key) if self.cluster else None  # noqa: E731
        self._succession = Succession(leader, ledger, self.tester, clock)
        self.reload()
        self._histories.follow(ledger.latest().values())
        self.verdict = decide(self._gather()())
        self.view: GateView = view_of(self.verdict, self.plan)
        ledger.listen(self._heard)

    @property
    def settings(self) -> Settings:
        """The settings, with the members that their file has now."""
        return self.files.settings

    @property
    def plan(self) -> Plan | None:
        """The plan that was last of use."""
        return self.files.plan

    @property
    def members(self) -> tuple[KnownMember, ...]:
        """The nodes that the settings name, and this process's own."""
        found = self.cluster.members if self.cluster is not None else ()
        return known_members(self.settings.members, found, self.settings.node if self._node else "")

    @property
    def paused(self) -> str:
        """Who paused the tests of the whole gate, as a phrase; empty when nobody did."""
        if self.cluster is not None and self.cluster.standby:
            return self.cluster.standby
        if self._node is not None:
            return self._node.guard.paused
        return paused_by(self.settings.pause_file)

    def _pods(self) -> "PodTests | None":
        return self.cluster.pods if self.cluster is not None else None

    def pause(self, paused: bool, who: str) -> None:
        """Stop the tests of all nodes within a second, or allow them again."""
        set_pause(self.settings.pause_file, paused, who)

    def reload(self) -> None:
        """Read members, plan and decisions again; what is broken leaves the old in force, and says so on the page."""
        if self.cluster is not None:
            self.cluster.forget_departed()
        before = self.settings.members
        self.files.read_members()
        forget_runs_of({one.name for one in before} - {one.name for one in self.members}, self._ledger)
        if self.files.read_plan(self.members):
            self.tester.forget_unplanned()
        self.files.read_decisions(self._clock.now())
        self._hand_out()

    async def run(self) -> None:
        """Follow, test and decide until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._followed.run(), name="follow nodes")
            tasks.create_task(self.tester.run(), name="test paths")
            if self.cluster is not None:
                tasks.create_task(self.cluster.run(), name="follow the cluster")
                tasks.create_task(self._succession.run(), name="follow the gate that leads")
            await self._decide_forever()

    def _gather(self) -> Callable[[], GateInputs]:
        """Take hold of this moment; the rest, which takes long in a large cluster, is pure and fit for a thread."""
        now, of_groups = self._clock.now(), self.tester.group_outlook()
        outlook = self.tester.outlook(self._results, self._samples)
        inputs = GateInputs(
            plan=self.plan,
            records=dict(self._ledger.latest()),
            nodes=self._nodes(now),
            now=now,
            program_version=__version__,
            decisions=self.files.decisions,
            histories=self._histories.now,
            plan_problem=self.files.plan_problem,
            paused=self.paused,
            pod_checks=POD_CHECKS if self.cluster else frozenset(),
            told=self.verdict.told,
        )
        return lambda: replace(inputs, **expected(outlook, of_groups))

    def explain(self, node: str, check: str) -> Explanation:
        """Explain a check as it stands now. KeyError with a sentence for a node or check that is not there."""
        return explain(self.verdict, node, check)

    async def snapshot(self, operator: str) -> bytes:
        """Return a snapshot of this moment as canonical JSON, worked out in a thread."""
        taking = Taking(operator, versions={"python": platform.python_version()})
        taken = self._clock.now()
        snapshot = await asyncio.to_thread(frozen, self._gather(), self._ledger.evidence.read, taking)
        self._last_snapshot.keep(taken)
        self._changed.set()
        return snapshot

    def _assignment_of(self, name: str) -> Callable[[], Assignment | None]:
        def assignment() -> Assignment | None:
            if (plan := self.plan) is None:
                return None
            term = self.claim.term
            work = assignment_for(plan, name, self.members, term) or withdrawal(plan, name, term)
            return msgspec.structs.replace(work, gate=self.claim.gate)

        return assignment

    def join(self, cluster: "InCluster") -> None:
        """Take nodes, leadership and maintenance from this cluster; before ``run``."""
        self.cluster = cluster
        cluster.changed, cluster.plan, cluster.known = self._hand_out, lambda: self.plan, lambda: self.members

    def _hand_out(self) -> None:
        leads = True
        if self.cluster is not None:
            self.claim, leads = self.cluster.claim(self.claim)
            if leads:
                self._succession.begin()
        self._changed.set()
        self._followed.name(member for member in self.members if leads and not self._is_own(member.name))
        self._followed.reassign()
        self._hear_own(has_news=True)

    def _heard(self, record: Record) -> None:
        self._histories.follow([record])
        self._changed.set()

    async def _decide_forever(self) -> None:
        while True:
            self._changed.clear()
            self._hear_own()
            began = self._clock.monotonic()
            notes = (*self.files.notes, *(self.cluster.problems if self.cluster else ()))
            judge = partial(judge_and_show, self._gather(), self.plan, notes, self.files.usable)
            before = self.verdict.banner
            async with self.tester.thinking:
                self.verdict, self.view = await asyncio.to_thread(judge)
            if before != self.verdict.banner:
                _log.warning("gate %s", self.verdict.banner)
            if self.cluster is not None:
                self.cluster.show(self.verdict)
            is_leader = self.cluster is None or not self.cluster.standby
            self.view = msgspec.structs.replace(self.view, is_leader=is_leader, last_snapshot=self._last_snapshot.at)
            await self._metrics.show(self.view)
            took_seconds = self._clock.monotonic() - began
            await self._clock.wait(self._changed, DECIDE_EVERY_SECONDS)
            await asyncio.sleep(rest_seconds(took_seconds))

    def _hear_own(self, *, has_news: bool = False) -> None:
        plan, claim = self.plan, self.claim
        if self._own is not None and plan is not None:
            name = self.settings.node
            self._own.hear(claim, lambda: assignment_for(plan, name, self.members, claim.term), has_news=has_news)

    def _nodes(self, now: float) -> tuple[GateNode, ...]:
        if self.plan is None:
            return ()
        pools = pool_nodes(self.plan, self.members)
        return tuple(self._gate_node(name, pool, now) for pool, names in pools.items() for name in names)

    def _gate_node(self, name: str, pool: str, now: float) -> GateNode:
        if self._own is not None and self._is_own(name):
            return self._own.gate_node(pool, now)
        node = self._followed.gate_node(name, pool)
        return self.cluster.judged(node) if self.cluster else node

    def _is_own(self, name: str) -> bool:
        return self._node is not None and name == self.settings.node
