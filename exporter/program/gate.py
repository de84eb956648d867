"""The gate role: follows the nodes, has their paths tested, and decides anew whenever anything it knows has changed."""

import asyncio
import logging
import platform
from collections.abc import Callable

import aiohttp

from exporter import __version__, registry
from exporter.assignment import Assignment
from exporter.clock import Clock
from exporter.fabric.expected import PathEnd
from exporter.fabric.guarded import GuardedEndpoint
from exporter.fabric.node_client import Address, NodeClient
from exporter.fabric.nodes import NodeFollower
from exporter.fabric.remote import RemoteEndpoint
from exporter.fabric.tester import PathTester
from exporter.gate.changes import Histories, encode_histories, follow_all
from exporter.gate.decide import decide
from exporter.gate.decisions import Decisions, load_decisions
from exporter.gate.explain import Explanation, explain
from exporter.gate.inputs import GateInputs, GateNode, MemberState
from exporter.gate.snapshot import Taking, snapshot_bytes, take_snapshot
from exporter.gate.verdict import Verdict
from exporter.keys import node_key
from exporter.ledger import Ledger, Record, replace_file
from exporter.metrics.verdict import VerdictMetrics
from exporter.plan import Plan, PlanError
from exporter.plan.assignments import assignment_for, withdrawal
from exporter.plan.membership import pool_nodes
from exporter.program.gate_view import usable_files, view_of
from exporter.program.node import NodeRole, run_context
from exporter.program.situation import kept_histories, planned_paths, situation_of
from exporter.settings import KnownMember, Settings
from exporter.view import GateView
from probes._endpoint import Endpoint

TERM = 1
DECIDE_EVERY_SECONDS = 1.0
SETTLE_SECONDS = 0.02

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
        self.settings = settings
        self.plan: Plan | None = None
        self._plan_problem = ""
        self._decisions = Decisions()
        self._histories: Histories = {}
        self._histories_file = settings.state_dir / "histories.json"
        self._ledger = ledger
        self._clock = clock
        self._node = node
        self._metrics = metrics
        self._master_key = master_key
        self._clients: dict[str, NodeClient] = {}
        self._followers: dict[str, NodeFollower] = {}
        self._changed = asyncio.Event()
        self.verdict = Verdict(
            "", is_open=False, banner="closed: nothing shown yet", decided=clock.now(), plan_digest=""
        )
        self.tester = PathTester(
            ledger,
            run_context(settings),
            clock=clock,
            endpoint_for=self._endpoint_for,
            situation=lambda: situation_of(self.verdict, self.plan, self.members, self._histories, self.paused),
        )
        self.reload()
        self._histories = follow_all(kept_histories(self._histories_file), ledger.latest().values())
        self.verdict = decide(self.inputs())
        self.view: GateView = view_of(self.verdict, self.plan)
        ledger.listen(self._heard)

    @property
    def members(self) -> tuple[KnownMember, ...]:
        """The nodes that the settings name, and this process's own."""
        named = self.settings.members
        own = self.settings.node
        if self._node is None or any(member.name == own for member in named):
            return named
        return (*named, KnownMember(own))

    @property
    def paused(self) -> str:
        """Who paused the tests of the whole gate, as a phrase; empty when nobody did."""
        if self._node is not None:
            return self._node.guard.paused
        file = self.settings.pause_file
        return f"pause file {file}" if file is not None and file.exists() else ""

    def pause(self, paused: bool, who: str) -> None:
        """Stop the tests of all nodes within a second, or allow them again."""
        file = self.settings.pause_file
        if file is not None and paused:
            file.write_text(f"{who}\n")
        elif file is not None:
            file.unlink(missing_ok=True)

    def reload(self) -> None:
        """Read plan and decisions again; a broken plan leaves the old one in force, and says so on the page."""
        if self.settings.plan is not None:
            # Reading a plan takes pydantic, which is a third of the time that a start takes.
            from exporter.plan.affordable import load_affordable_plan

            try:
                self.plan, self._plan_problem = load_affordable_plan(self.settings.plan, self.members), ""
                self.tester.forget_unplanned()
            except PlanError as error:
                self._plan_problem = error.lines[0]
                _log.error("plan: %s", "; ".join(error.lines))
        if self.settings.decisions is not None:
            self._decisions = load_decisions(self.settings.decisions, _probe_names(), self._clock.now())
            for sentence in self._decisions.refused:
                _log.warning("decisions: %s", sentence)
        self._hand_out()

    async def run(self) -> None:
        """Follow, test and decide until cancelled."""
        async with aiohttp.ClientSession() as session, asyncio.TaskGroup() as tasks:
            for member in self.members:
                if not self._is_own(member.name) and member.url:
                    self._follow(session, member, tasks)
            tasks.create_task(self.tester.run(), name="test paths")
            await self._decide_forever()

    def inputs(self) -> GateInputs:
        """Gather everything that the next verdict rests on."""
        now = self._clock.now()
        return GateInputs(
            plan=self.plan,
            records=self._ledger.latest(),
            nodes=self._nodes(now),
            now=now,
            program_version=__version__,
            paths=planned_paths(self.plan, self.tester) if self.plan else (),
            decisions=self._decisions,
            histories=self._histories,
            plan_problem=self._plan_problem,
            paused=self.paused,
        )

    def explain(self, node: str, check: str) -> Explanation:
        """Explain a check as it stands now. KeyError with a sentence for a node or check that is not there."""
        return explain(self.verdict, node, check)

    def snapshot(self, operator: str) -> bytes:
        """Return a snapshot of this moment as canonical JSON."""
        inputs = self.inputs()
        taking = Taking(operator, versions={"python": platform.python_version()})
        return snapshot_bytes(take_snapshot(decide(inputs), inputs, self._ledger.evidence.read, taking))

    def _follow(self, session: aiohttp.ClientSession, member: KnownMember, tasks: asyncio.TaskGroup) -> None:
        key = node_key(self._master_key, member.name) if self._master_key else b""
        client = NodeClient(session, Address(member.name, member.url, key), self._clock.now)
        follower = NodeFollower(client, self._ledger, self._assignment_of(member.name), self._clock.now)
        self._clients[member.name], self._followers[member.name] = client, follower
        tasks.create_task(follower.follow(), name=f"follow {member.name}")

    def _assignment_of(self, name: str) -> Callable[[], Assignment | None]:
        def assignment() -> Assignment | None:
            plan = self.plan
            if plan is None:
                return None
            return assignment_for(plan, name, self.members, TERM) or withdrawal(plan, name, TERM)

        return assignment

    def _hand_out(self) -> None:
        for follower in self._followers.values():
            follower.reassign()
        if self._node is not None and self.plan is not None:
            self._node.follow(assignment_for(self.plan, self.settings.node, self.members, TERM))

    def _heard(self, record: Record) -> None:
        before, self._histories = self._histories, follow_all(self._histories, [record])
        if self._histories is not before:
            # Without them a restarted gate would take results from before a change for good.
            replace_file(self._histories_file, encode_histories(self._histories))
        self._changed.set()

    async def _decide_forever(self) -> None:
        while True:
            self._changed.clear()
            self._hear_own()
            before, self.verdict = self.verdict, decide(self.inputs())
            if before.banner != self.verdict.banner:
                _log.warning("gate %s", self.verdict.banner)
            files = usable_files(self.settings, self._plan_problem, self._decisions)
            self.view = view_of(self.verdict, self.plan, self._notes(), files)
            await self._metrics.show(self.view)
            await self._clock.wait(self._changed, DECIDE_EVERY_SECONDS)
            # Records come in batches; one decision serves them all.
            await asyncio.sleep(SETTLE_SECONDS)

    def _hear_own(self) -> None:
        if self._node is not None:
            self._node.guard.heard()

    def _notes(self) -> tuple[str, ...]:
        if self.plan is None or not self._plan_problem:
            return ()
        return (f"plan: the file could not be used ({self._plan_problem}), the plan read before is still in force",)

    def _nodes(self, now: float) -> tuple[GateNode, ...]:
        if self.plan is None:
            return ()
        pools = pool_nodes(self.plan, self.members)
        return tuple(self._gate_node(name, pool, now) for pool, names in pools.items() for name in names)

    def _gate_node(self, name: str, pool: str, now: float) -> GateNode:
        if self._is_own(name):
            return GateNode(name, pool, MemberState.REACHABLE, now)
        if name not in self._followers:
            return GateNode(name, pool, MemberState.MISSING, detail="no member of that name in the settings")
        state = self._followers[name].state
        return GateNode(name, pool, MemberState(state.membership.value), state.heard, state.problem)

    def _is_own(self, name: str) -> bool:
        return self._node is not None and name == self.settings.node

    def _endpoint_for(self, end: PathEnd) -> Endpoint:
        if self._node is not None and end.node == self.settings.node:
            return GuardedEndpoint(end.node, end.hca, self._node.tests, lambda: TERM)
        return RemoteEndpoint(self._clients[end.node], end.hca, lambda: TERM)


def _probe_names() -> frozenset[str]:
    """Those of this program, and those that a check requires but this version does not have."""
    required = (name for check in registry.checks().values() for name in check.required)
    return frozenset((*registry.probes(), *required))
