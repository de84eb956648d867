"""A collective whose turn has come holds the slots of all its nodes, runs once, and becomes one run of its group."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from msgspec import structs

from exporter.assignment import Budget, Claim, ProbeSpec
from exporter.evidence import EvidenceStore
from exporter.fabric.expected import PathEnd
from exporter.fabric.group_outlook import COMES_FIRST
from exporter.fabric.groups import group_of
from exporter.fabric.outlook import Situation
from exporter.fabric.tester import Tester
from exporter.ledger import Ledger
from exporter.observe import RunContext
from exporter.plan import GroupTest, Nodes, PathMode, Plan, PlannedGroups, Pool, Review
from exporter.settings import KnownMember
from exporter.slots import Lease
from probes import ProbeError, Run
from probes._endpoint import Endpoint, Outcome, Ready, Refused, TestRequest
from probes._group import GroupEndpoint
from probes._targets import Target
from tests.exporter.fabric.ticking import Ticking
from tests.fixtures.groups.group_ends import PlayedNode, changed

SPEC = ProbeSpec(
    "transfers.collectives",
    "ar",
    {"message": 2**30, "iterations": 3, "warm_ups": 1},
    every_seconds=3600.0,
    fresh_seconds=20_000.0,
    targets=(Target("bus_bandwidth", "acceptance run", at_least=100e9),),
)
PING = ProbeSpec(
    "connectivity.ping_pong", "ping", {"hcas": {"name": "compute", "devices": ["rxe0"]}}, every_seconds=0.0
)


@dataclass
class Machines:
    """The nodes of a cluster. ``node_of`` makes each one's part of a burst, ``held`` are the slots asked for.

    ``in_use`` are the slots that were not given back yet.
    """

    node_of: Callable[[str], PlayedNode] = PlayedNode
    held: list[str] = field(default_factory=list)
    in_use: list[str] = field(default_factory=list)
    runs: asyncio.Queue[Run] = field(default_factory=asyncio.Queue)
    pings: list[str] = field(default_factory=list)

    claim = Claim("gate-1", 1)

    def absent(self, _node: str) -> str:
        return ""

    def end(self, _node: str) -> str:
        return ""

    def group_endpoint(self, node: str, _lease: str) -> GroupEndpoint:
        return self.node_of(node)

    def endpoint(self, end: PathEnd, _lease: str) -> Endpoint:
        return NoTool(end.node, self.pings)

    def slots(self, node: str) -> "Slots":
        return Slots(node, self.held, self.in_use)


@dataclass
class NoTool:
    node: str
    pings: list[str]
    hca: str = "rxe0"

    async def start(self, test: TestRequest) -> Ready:
        self.pings.append(self.node)
        raise ProbeError("tool_missing", f"{self.node}: no {test.tool}, one wanted")

    async def wait(self) -> Outcome:
        raise AssertionError("nothing was started")

    async def stop(self) -> None:
        pass


@dataclass
class Slots:
    node: str
    held: list[str]
    in_use: list[str]

    async def ask(self, _lease: Lease) -> str:
        self.held.append(self.node)
        self.in_use.append(self.node)
        return ""

    async def give_back(self, _name: str) -> None:
        self.in_use.remove(self.node)


class Resting(Ticking):
    """While a test runs no time passes: how long its threads take in truth must not bring the next turn of groups."""

    def __init__(self, in_use: list[str]) -> None:
        super().__init__()
        self._in_use = in_use

    async def wait(self, event: asyncio.Event, limit_seconds: float) -> None:
        await super().wait(event, 0.0 if self._in_use else limit_seconds)


@dataclass
class Cluster:
    """A gate's tester over machines that play their part; ``run(n)`` returns the first n runs of collectives."""

    nodes: tuple[str, ...] = ("a", "b")
    groups: PlannedGroups = field(default_factory=lambda: PlannedGroups(2, nodes_per_group=2))
    machines: Machines = field(default_factory=Machines)
    tests: tuple[ProbeSpec, ...] = ()
    every_seconds: float = 3600.0
    passed: frozenset[str] = COMES_FIRST
    ruled_out: frozenset[tuple[str, str]] = frozenset()
    deferrals: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.clock = Resting(self.machines.in_use)
        self.ledger = Ledger(None, EvidenceStore(None), self.clock.now)

    async def run(self, count: int) -> list[Run]:
        tester = self.tester()
        self.ledger.listen(lambda record: self._take(record.run))
        task = asyncio.create_task(tester.run())
        try:
            async with asyncio.timeout(60):
                return [await self.machines.runs.get() for _ in range(count)]
        finally:
            self.deferrals = dict(tester.deferrals)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    def tester(self) -> Tester:
        spec = structs.replace(SPEC, every_seconds=self.every_seconds)
        pool = Pool("h100", Nodes(self.nodes), tests=self.tests, group_tests=(GroupTest(spec, self.groups),))
        plan = Plan(
            "lab",
            (pool,),
            paths={"same_rail": PathMode("every_pair")},
            budget=Budget(tests_enabled=True),
            reviewed=Review("ana", "2026-11-02", "git"),
        )
        members = tuple(KnownMember(node) for node in self.nodes)
        situation = Situation(plan, members, dict.fromkeys(self.nodes, self.passed), ruled_out=self.ruled_out)
        context = RunContext("gate", "host", "", "boot", "0.1")
        return Tester(self.ledger, context, clock=self.clock, reach=self.machines, situation=lambda: situation)

    def _take(self, run: Run) -> None:
        if run.probe == SPEC.probe:
            self.machines.runs.put_nowait(run)


async def test_a_group_is_run_over_the_slots_of_its_nodes_and_judged_against_its_target():
    cluster = Cluster()
    (run,) = await cluster.run(1)
    group = group_of("ab", 2)
    assert (run.probe, run.id, run.target, run.outcome) == ("transfers.collectives", "ar", group.target, "done")
    (finding,) = run.findings
    assert (finding.status, finding.subject.group, finding.facts["nodes"], finding.facts["ranks"]) == (
        "pass",
        "a+b",
        "a,b",
        "4",
    )
    assert cluster.machines.held == ["a", "b"]
    (judged,) = cluster.ledger.get(("transfers.collectives", "ar", group.target)).judged
    assert judged.ratio == pytest.approx(2**30 / 0.011 * 1.5 / 100e9)


async def test_a_missed_target_is_measured_again_at_once_and_then_fails():
    slow = Machines(lambda node: PlayedNode(node, dict.fromkeys(range(4), changed(seconds=(0.1, 0.1, 0.1)))))
    runs = await Cluster(machines=slow).run(2)
    assert [(run.findings[0].status, run.findings[0].reason) for run in runs] == [
        ("unknown", "unconfirmed"),
        ("fail", "missed_target"),
    ]


async def test_every_node_has_its_group_though_their_number_is_odd():
    runs = await Cluster(nodes=("a", "b", "c")).run(2)
    assert {node for run in runs for node in run.findings[0].facts["nodes"].split(",")} == {"a", "b", "c"}


async def test_the_node_that_makes_each_of_its_groups_fail_is_found_and_left_out():
    wrong = dict.fromkeys(range(4), changed(wrong=5))
    machines = Machines(lambda node: PlayedNode(node, wrong if node == "d" else {}))
    cluster = Cluster(nodes=tuple("abcd"), machines=machines)
    runs = await cluster.run(4)
    assert [run.findings[0].reason for run in runs].count("wrong_data") == 2
    assert all(bool(run.findings[0].reason) is ("d" in run.findings[0].facts["nodes"]) for run in runs)
    outlook = cluster.tester().group_outlook()
    assert outlook is not None
    made = outlook()
    (pool,) = made.plan.pools
    left = {node for group in made.expected(pool, pool.group_tests[0]) for node in group.nodes}
    assert left == {"a", "b", "c"}


async def test_a_busy_gpu_puts_the_burst_off_and_is_counted():
    asked: list[str] = []

    def node_of(name: str) -> PlayedNode:
        asked.append(name)
        busy = Refused("gpu_busy", f"{name}: GPU 0 at 97 %, an idle one wanted") if len(asked) < 3 else None
        return PlayedNode(name, error=busy if name == "b" else None)

    cluster = Cluster(machines=Machines(node_of))
    (run,) = await cluster.run(1)
    assert (run.findings[0].status, cluster.deferrals) == ("pass", {"gpu_busy": 1})


async def test_a_group_gets_its_turn_beside_a_test_that_is_always_due():
    cluster = Cluster(tests=(PING,), every_seconds=10.0)
    runs = await cluster.run(3)
    assert ([run.id for run in runs], bool(cluster.machines.pings)) == (["ar"] * 3, True)


@pytest.mark.parametrize("absent", sorted(COMES_FIRST))
async def test_a_group_waits_until_every_earlier_check_of_its_nodes_stands(absent):
    outlook = Cluster(passed=COMES_FIRST - {absent}).tester().group_outlook()
    assert outlook is not None
    assert outlook().waiting(frozenset()) == []
    open_outlook = Cluster().tester().group_outlook()
    assert open_outlook is not None
    assert len(open_outlook().waiting(frozenset())) == 1


def test_a_node_to_which_the_test_does_not_apply_is_in_no_group():
    cluster = Cluster(nodes=("a", "b", "c"), ruled_out=frozenset({("b", SPEC.probe)}))
    outlook = cluster.tester().group_outlook()
    assert outlook is not None
    assert [one.turn.group.nodes for one in outlook().waiting(frozenset())] == [("a", "c")]


async def test_what_newer_runs_have_taken_the_place_of_is_forgotten():
    cluster = Cluster(nodes=("a", "b", "c"))
    await cluster.run(4)
    kept = [key[2].partition("#")[0] for key in cluster.ledger.latest()]
    nodes = sorted(node for name in kept for node in name.split("+"))
    assert {*nodes} == {"a", "b", "c"}
    assert len(kept) <= 3
