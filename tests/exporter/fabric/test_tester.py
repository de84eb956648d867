"""The tests of a plan share their turns: none keeps another waiting, however often it is due."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest

from exporter.assignment import Budget, Claim, ProbeSpec
from exporter.evidence import EvidenceStore
from exporter.fabric.expected import PathEnd
from exporter.fabric.outlook import Situation
from exporter.fabric.rounds import Cycle
from exporter.fabric.tester import CYCLE_NUMBER, CYCLE_STARTED, Tester, kept_cycle
from exporter.ledger import Ledger
from exporter.observe import RunContext
from exporter.plan import Nodes, PathMode, Plan, Pool, Review
from exporter.settings import KnownMember
from exporter.slots import Lease
from probes import ProbeError
from probes._endpoint import Endpoint, Outcome, Ready, TestRequest, Tool
from tests.exporter.fabric.ticking import Ticking

HCAS = {"name": "compute", "devices": ["rxe0"]}
ALWAYS_DUE = ProbeSpec("connectivity.ping_pong", "ping-pong", {"hcas": HCAS}, every_seconds=0.0)
RARE = ProbeSpec("connectivity.send_bandwidth", "send-bw", {"hcas": HCAS}, every_seconds=3600.0)
NODES = ("a", "b")


class MissingTool:
    """An end without its tool, so that a test is over as soon as it was asked for."""

    def __init__(self, end: PathEnd, reach: "ReachingAll") -> None:
        self.node, self.hca = end.node, end.hca
        self._reach = reach

    async def start(self, test: TestRequest) -> Ready:
        self._reach.asked.put_nowait((test.tool, f"{test.peer}>{self.node}"))
        if self._reach.replaces_ends:
            self._reach.ends[self.node] += "'"
        raise ProbeError("tool_missing", f"{self.node}: no {test.tool}, one wanted")

    async def wait(self) -> Outcome:
        raise AssertionError("nothing was started")

    async def stop(self) -> None:
        pass


class ReachingAll:
    """Reaches every node, each with a slot that is always free."""

    claim = Claim("gate-1", 1)

    def __init__(self, asked: asyncio.Queue[tuple[Tool, str]]) -> None:
        self.asked = asked
        self.without_pod: set[str] = set()
        self.ends = dict.fromkeys(NODES, "pod")
        self.replaces_ends = False
        self.looks = 0
        self.looked_twice = asyncio.Event()

    def endpoint(self, end: PathEnd, _lease: str) -> Endpoint:
        return MissingTool(end, self)

    def absent(self, node: str) -> str:
        self.looks += node == "a"
        if self.looks > 1:
            self.looked_twice.set()
        return "without test pod" if node in self.without_pod else ""

    def end(self, node: str) -> str:
        return self.ends[node]

    def slots(self, node: str) -> "FreeSlots":
        return FreeSlots(node)


class FreeSlots:
    def __init__(self, node: str) -> None:
        self.node = node

    async def ask(self, _lease: Lease) -> str:
        return ""

    async def give_back(self, _name: str) -> None:
        pass


@pytest.fixture
def reach(request: pytest.FixtureRequest) -> ReachingAll:
    reaching = ReachingAll(asyncio.Queue())
    reaching.without_pod = set(getattr(request, "param", ()))
    return reaching


@pytest.fixture
def clock() -> Ticking:
    return Ticking()


@pytest.fixture
def ledger(clock: Ticking) -> Ledger:
    return Ledger(None, EvidenceStore(None), clock.now)


@pytest.fixture
def tester(reach: ReachingAll, ledger: Ledger, clock: Ticking) -> Tester:
    pool = Pool("h100", Nodes(NODES), tests=(ALWAYS_DUE, RARE))
    plan = Plan(
        "lab",
        (pool,),
        paths={"same_rail": PathMode("every_pair")},
        budget=Budget(tests_enabled=True),
        reviewed=Review("ana", "2026-11-02", "git"),
    )
    passed = {node: frozenset({"access", "runtime"}) for node in NODES}
    situation = Situation(plan, tuple(KnownMember(node) for node in NODES), passed)

    context = RunContext("gate", "host", "", "boot", "0.1")
    return Tester(ledger, context, clock=clock, reach=reach, situation=lambda: situation)


@contextlib.asynccontextmanager
async def running(tester: Tester) -> AsyncIterator[None]:
    task = asyncio.create_task(tester.run())
    yield
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


@pytest.fixture
async def asked(reach: ReachingAll, tester: Tester) -> AsyncIterator[asyncio.Queue[tuple[Tool, str]]]:
    """The tests that a tester asks for, in their order: the tool, and client and server."""
    async with running(tester):
        yield reach.asked


async def test_a_test_that_is_always_due_does_not_keep_another_from_its_first_run(
    asked: asyncio.Queue[tuple[Tool, str]],
) -> None:
    seen = {await asked.get() for _ in range(40)}
    assert seen == {(tool, path) for tool in (Tool.RC_PINGPONG, Tool.SEND_BW) for path in ("a>b", "b>a")}


@pytest.mark.parametrize("reach", [("b",)], indirect=True)
async def test_a_path_whose_end_has_no_test_pod_now_is_left_alone_until_it_has(
    reach: ReachingAll, asked: asyncio.Queue[tuple[Tool, str]]
) -> None:
    await reach.looked_twice.wait()
    assert asked.empty()
    reach.without_pod = set()
    assert (await asked.get())[1] in ("a>b", "b>a")


async def test_a_test_whose_end_was_taken_away_meanwhile_tells_nothing_and_is_run_again(
    reach: ReachingAll, tester: Tester, ledger: Ledger
) -> None:
    reach.replaces_ends = True
    async with running(tester):
        asked = [await reach.asked.get() for _ in range(20)]
    assert len(asked) > len(set(asked))
    assert tester.deferrals.keys() == {"no_test_pod"}
    assert ledger.latest() == {}


def test_a_restart_goes_on_with_the_cycle_that_was_under_test():
    ledger = Ledger(None, EvidenceStore(None), lambda: 500.0)
    assert kept_cycle(ledger, 500.0) == Cycle(0, 500.0)
    ledger.tokens |= {CYCLE_NUMBER: 4.0, CYCLE_STARTED: 320.0}
    assert kept_cycle(ledger, 500.0) == Cycle(4, 320.0)
