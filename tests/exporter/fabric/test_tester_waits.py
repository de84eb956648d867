"""What is not reviewed, not ready, blocked, paused or refused is not tested, and is once that is over."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

import msgspec
import pytest

from exporter.assignment import Budget, Claim, ProbeSpec
from exporter.evidence import EvidenceStore
from exporter.fabric.expected import PathEnd
from exporter.fabric.last_results import ResultsByTest
from exporter.fabric.outlook import Situation
from exporter.fabric.samples import Samples
from exporter.fabric.tester import REFUSED_AGAIN_SECONDS, Tester
from exporter.ledger import Ledger
from exporter.observe import RunContext
from exporter.plan import Nodes, PathMode, Plan, Pool, Review
from exporter.settings import KnownMember
from exporter.slots import Lease
from probes import Finding, ProbeError, Run, Status, Subject
from probes._endpoint import Outcome, Ready, Refused, TestRequest

HCAS = {"name": "compute", "devices": ["rxe0"]}
PING = ProbeSpec("connectivity.ping_pong", "ping-pong", {"hcas": HCAS}, every_seconds=3600.0)
BANDWIDTH = ProbeSpec("transfers.write_bandwidth", "write-bw", {"hcas": HCAS}, every_seconds=3600.0)
READY = frozenset({"access", "runtime"})
PLAN = Plan(
    "lab",
    (Pool("h100", Nodes(("a", "b")), tests=(PING,)),),
    paths={"same_rail": PathMode("every_pair")},
    budget=Budget(tests_enabled=True),
    reviewed=Review("ana", "2026-11-02", "git"),
    digest="digest-1",
)
READY_SITUATION = Situation(PLAN, (KnownMember("a"), KnownMember("b")), {"a": READY, "b": READY})


@dataclass
class Machines:
    """Both ends of every path: ``answer`` is raised by whatever is started, and each start is remembered."""

    answer: Exception = field(default_factory=lambda: ProbeError("tool_missing", "no tool, one wanted"))
    hang: bool = False
    started: list[str] = field(default_factory=list)
    stopped: list[str] = field(default_factory=list)

    claim = Claim("gate-1", 1)

    def endpoint(self, end: PathEnd, _lease: str) -> "End":
        return End(end.node, end.hca, self)

    def absent(self, _node: str) -> str:
        return ""

    def end(self, _node: str) -> str:
        return ""

    def slots(self, node: str) -> "FreeSlots":
        return FreeSlots(node)


@dataclass
class FreeSlots:
    node: str

    async def ask(self, _lease: Lease) -> str:
        return ""

    async def give_back(self, _name: str) -> None:
        pass


@dataclass
class End:
    node: str
    hca: str
    machines: Machines

    async def start(self, test: TestRequest) -> Ready:
        self.machines.started.append(f"{test.peer}>{self.node}")
        if self.machines.hang:
            await asyncio.Event().wait()
        raise self.machines.answer

    async def wait(self) -> Outcome:
        raise AssertionError("nothing was started")

    async def stop(self) -> None:
        self.machines.stopped.append(self.node)


@dataclass
class World:
    """A clock that a test moves, a ledger, and the situation as the gate would tell it."""

    situation: Situation = READY_SITUATION
    seconds: float = 1_800_000_000.0
    machines: Machines = field(default_factory=Machines)
    looked: asyncio.Event = field(default_factory=asyncio.Event)
    ledger: Ledger = field(init=False)
    tester: Tester = field(init=False)

    def __post_init__(self) -> None:
        self.ledger = Ledger(None, EvidenceStore(None), self.now)
        self.tester = Tester(
            self.ledger, RunContext("gate", "host", "", "boot", "0.1"), clock=self,
            reach=self.machines, situation=lambda: self.situation,
        )  # fmt: skip

    def now(self) -> float:
        return self.seconds

    def monotonic(self) -> float:
        return self.seconds

    async def wait(self, event: asyncio.Event, _limit_seconds: float) -> None:
        self.looked.set()
        await asyncio.sleep(0)

    async def look(self, seconds: float = 0.0) -> None:
        """Let the tester look around often enough for every test that may run to have run."""
        self.seconds += seconds
        for _ in range(30):
            self.looked.clear()
            await self.looked.wait()

    def tested(self) -> dict[str, str]:
        return {target: record.run.findings[0].reason for (_, _, target), record in self.ledger.latest().items()}

    def pass_path(self, probe: str, target: str) -> None:
        client, server = (end.partition(":")[0] for end in target.split(">"))
        finding = Finding(Subject(client, "rxe0", peer=server, peer_device="rxe0"), Status.PASS, "", "as planned")
        self.ledger.put(Run(probe, "x", target, "host", (finding,), 1.0, 2.0, "digest-1", "boot", "0.1"))


@asynccontextmanager
async def running(world: World) -> AsyncIterator[World]:
    task = asyncio.create_task(world.tester.run())
    try:
        await world.look()
        yield world
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_both_directions_are_tested_once_and_then_wait_for_their_interval():
    async with running(World()) as world:
        assert world.tested() == {"a:rxe0>b:rxe0": "tool_missing", "b:rxe0>a:rxe0": "tool_missing"}
        count = len(world.machines.started)
        await world.look(seconds=60)
        assert len(world.machines.started) == count
        record = next(iter(world.ledger.latest().values()))
        assert (record.pool, record.run.plan_digest) == ("h100", "digest-1")


@pytest.mark.parametrize(
    "situation",
    [
        Situation(None),
        replace(READY_SITUATION, plan=replace(PLAN, reviewed=None)),
        replace(READY_SITUATION, plan=replace(PLAN, budget=Budget(tests_enabled=False))),
        replace(READY_SITUATION, unready={"b": "silent"}),
        replace(READY_SITUATION, passed={"a": READY, "b": frozenset({"access"})}),
        replace(READY_SITUATION, paused="pause file /run/pause"),
    ],
    ids=["no plan", "not reviewed", "not enabled", "node silent", "check 5 of one end closed", "paused"],
)
async def test_nothing_is_tested_until_all_is_ready(situation):
    async with running(World(situation)) as world:
        assert (world.machines.started, world.tested()) == ([], {})
        world.situation = READY_SITUATION
        await world.look()
        assert set(world.tested()) == {"a:rxe0>b:rxe0", "b:rxe0>a:rxe0"}


async def test_a_refused_test_is_counted_replaces_nothing_and_is_asked_again_a_little_later():
    world = World()
    world.machines.answer = Refused("port_busy", "a: the port is busy")
    async with running(world):
        asked = len(world.machines.started)
        assert (world.tested(), dict(world.tester.deferrals)) == ({}, {"port_busy": 2})
        await world.look()
        assert len(world.machines.started) == asked
        await world.look(seconds=REFUSED_AGAIN_SECONDS + 1)
        assert world.tester.deferrals == {"port_busy": 4}


async def test_a_transfer_waits_for_connectivity_of_its_own_path_alone():
    plan = replace(PLAN, pools=(replace(PLAN.pools[0], tests=(BANDWIDTH,)),))
    async with running(World(replace(READY_SITUATION, plan=plan))) as world:
        assert world.tested() == {}
        world.pass_path("connectivity.ping_pong", "b:rxe0>a:rxe0")
        await world.look()
        tested = {target for probe, _, target in world.ledger.latest() if probe == BANDWIDTH.probe}
        assert tested == {"b:rxe0>a:rxe0"}


async def test_a_node_that_changed_is_tested_again_at_once():
    async with running(World()) as world:
        before = {target: record.received for (_, _, target), record in world.ledger.latest().items()}
        world.seconds += 100
        world.situation = replace(READY_SITUATION, changed={"b": world.seconds - 1})
        await world.look()
        after = {target: record.received for (_, _, target), record in world.ledger.latest().items()}
        assert {target: after[target] - before[target] for target in before} == dict.fromkeys(before, 100)


@pytest.mark.parametrize(
    ("test", "tested_under"),
    [
        (PING, "digest-1"),
        (msgspec.structs.replace(PING, settings={"hcas": HCAS, "messages": 7}), "digest-2"),
    ],
    ids=["beside the test", "of the test"],
)
async def test_an_edit_of_a_test_runs_it_at_once_and_one_beside_it_does_not(test, tested_under):
    async with running(World()) as world:
        plan = replace(PLAN, pools=(replace(PLAN.pools[0], tests=(test,)),), digest="digest-2")
        world.situation = replace(READY_SITUATION, plan=plan)
        await world.look()
        assert {record.run.plan_digest for record in world.ledger.latest().values()} == {tested_under}


async def test_pausing_ends_the_running_test_and_frees_its_nodes():
    world = World()
    world.machines.hang = True
    async with running(world):
        assert len(world.machines.started) == 1
        world.situation = replace(READY_SITUATION, paused="ana")
        await world.look()
        assert len(world.machines.started) == 1
        world.machines.hang = False
        world.situation = READY_SITUATION
        await world.look()
        assert set(world.tested()) == {"a:rxe0>b:rxe0", "b:rxe0>a:rxe0"}


async def test_the_paths_that_a_verdict_needs_are_known_before_any_test():
    world = World()
    pool = PLAN.pools[0]
    make = world.tester.outlook(ResultsByTest(), Samples())
    assert [path.target for path in make().paths_of(pool, PING)] == ["a:rxe0>b:rxe0", "b:rxe0>a:rxe0"]
    world.situation = Situation(None)
    assert world.tester.outlook(ResultsByTest(), Samples()) is None
