import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from exporter.assignment import Assignment, Budget, Claim, Member
from exporter.demands import PortLoad
from exporter.fabric.running_tests import RunningTests
from exporter.guard import Guard
from exporter.slots import Lease
from probes._endpoint import Ended, Endpoint, Outcome, Ready, TestRequest


class Clock:
    """Wall time and waiting time; ``advance`` moves both, and only ``set_back`` moves the wall alone."""

    def __init__(self) -> None:
        self.time = 1_800_000_000.0
        self.waited = 5000.0

    def __call__(self) -> float:
        return self.time

    def now(self) -> float:
        return self.time

    def monotonic(self) -> float:
        return self.waited

    def advance(self, seconds: float) -> None:
        self.time += seconds
        self.waited += seconds

    def set_back(self, seconds: float) -> None:
        self.time -= seconds


class ToolEnd:
    """A local end whose tool runs until it is told to end, or is stopped."""

    def __init__(self, node: str, hca: str, start_error: Exception | None = None) -> None:
        self.node, self.hca = node, hca
        self.started: list[TestRequest] = []
        self.start_error = start_error
        self.ended: asyncio.Future[Ended] = asyncio.get_running_loop().create_future()

    async def start(self, test: TestRequest) -> Ready:
        self.started.append(test)
        if self.start_error:
            raise self.start_error
        return Ready("::ffff:192.0.2.1", 1, 20001, 1024, "Ethernet")

    async def wait(self) -> Outcome:
        ended = await asyncio.shield(self.ended)
        status = 0 if ended is Ended.EXIT else -9
        return Outcome(("ib_write_bw",), ended, status, "out", "err", 0.5, "6.06", None, {"a": 1}, {"a": 2})

    async def stop(self) -> None:
        if not self.ended.done():
            self.ended.set_result(Ended.STOPPED)

    def end(self) -> None:
        self.ended.set_result(Ended.EXIT)


class Node:
    """One node's running tests with a real guard; the ends made for them are kept in ``ends``."""

    def __init__(self, clock: Clock) -> None:
        members = (Member("node-a"), Member("node-b"))
        budget = Budget(tests_enabled=True)
        self.assignment = Assignment(
            "lab", "node-b", "pool", "digest", reviewed=True, term=1, members=members, budget=budget
        )
        self.ends: list[ToolEnd] = []
        self.start_error: Exception | None = None
        self.guard = Guard(lambda: self.assignment, {}, clock, measure_load=quiet)
        self.tests = RunningTests(self.guard, self._endpoint)
        self.lease = self.held("lease1")

    def held(self, name: str) -> str:
        """Take a slot under that id."""
        assert self.guard.slots.ask(Lease(name, Claim(), "a test", 600.0)) == ""
        return name

    def _endpoint(self, hca: str) -> Endpoint:
        self.ends.append(ToolEnd("node-b", hca, self.start_error))
        return self.ends[-1]


async def quiet(_request: TestRequest) -> PortLoad:
    return PortLoad(0.0, 50e9)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def node(clock: Clock) -> Node:
    return Node(clock)


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as session:
        yield session


@pytest.fixture
async def serve() -> AsyncIterator[Callable[[web.Application], Awaitable[str]]]:
    """Serves an application on 127.0.0.1 and returns its address."""
    servers: list[TestServer] = []

    async def start(app: web.Application) -> str:
        servers.append(TestServer(app))
        await servers[-1].start_server()
        return str(servers[-1].make_url("/"))

    yield start
    for server in servers:
        await server.close()


@pytest.fixture
def request_of_client() -> TestRequest:
    from probes._endpoint import Tool

    return replace(TestRequest(Tool.WRITE_BW, "mlx5_0", "node-a", 100, 10, 10.0), peer_port=20001)
