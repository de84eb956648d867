import asyncio
from dataclasses import replace
from typing import Any

import aiohttp
import msgspec
import pytest
from aiohttp import web

from exporter.assignment import Assignment, Budget, Claim
from exporter.evidence import EvidenceStore
from exporter.fabric.node_client import Address, NodeClient
from exporter.fabric.nodes import Membership, NodeFollower
from exporter.fabric.wire import Problem, Records
from exporter.ledger import Ledger, Record
from probes import Evidence, Finding, Run, Status, Subject

CLAIM = Claim("gate-1", 1)
ASSIGNMENT = Assignment("lab", "node-b", "pool", "digest", term=1, budget=Budget())


def run(target: str = "node-b", status: Status = Status.PASS, text: str = "") -> Run:
    evidence = (Evidence("ibv_devinfo", text),) if text else ()
    finding = Finding(Subject(node=target), status, "" if status is Status.PASS else "port_down", "x", (), evidence)
    return Run("access.ports", "access.ports", target, "host", (finding,), 1.0, 2.0, "digest", "boot", "0.1")


class FakeNode:
    """A node's ledger behind real HTTP; what it was assigned; and how it answers."""

    def __init__(self, clock: Any) -> None:
        self.clock = clock
        self.ledger = Ledger(None, EvidenceStore(None), clock)
        self.assigned: list[Assignment] = []
        self.got_assignment = asyncio.Event()
        self.status = 200

    def restart(self) -> None:
        self.ledger = Ledger(None, EvidenceStore(None), self.clock)
        self.got_assignment.clear()

    def application(self) -> web.Application:
        app = web.Application()
        app.add_routes(
            [
                web.get("/v1/records", self._records),
                web.post("/v1/assignment", self._assignment),
                web.get("/v1/evidence/{sha256}", self._evidence),
            ]
        )
        return app

    async def _records(self, request: web.Request) -> web.Response:
        if self.status != 200:
            body = msgspec.json.encode(Problem("unauthorized", "signature: made with another key"))
            return web.Response(status=self.status, body=body)
        ledger, after = self.ledger, int(request.query["after"])
        if request.query.get("epoch", ledger.epoch) != ledger.epoch:
            after = 0
        records = await ledger.after(after, 0.02)
        return web.Response(body=msgspec.json.encode(Records(ledger.epoch, ledger.seq, records, ledger.now())))

    async def _assignment(self, request: web.Request) -> web.Response:
        self.assigned.append(msgspec.json.decode(await request.read(), type=Assignment))
        self.got_assignment.set()
        return web.Response(status=204)

    async def _evidence(self, request: web.Request) -> web.Response:
        return web.Response(text=self.ledger.evidence.read(request.match_info["sha256"]))


class Gate:
    """The gate's ledger, its follower of node-b, and a way to wait for the next record."""

    def __init__(self, client: NodeClient, clock: Any) -> None:
        self.ledger = Ledger(None, EvidenceStore(None), clock)
        self.assignment = ASSIGNMENT
        self.slept: list[float] = []
        self.failed = asyncio.Event()
        self.follower = NodeFollower(
            client, self.ledger, lambda: self.assignment, clock, claim=lambda: CLAIM, sleep=self._sleep
        )

    async def _sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.failed.set()
        await asyncio.sleep(0.01)

    async def receive(self) -> tuple[Record, ...]:
        return await self.ledger.after(0, 5)


@pytest.fixture
async def fake(clock: Any) -> FakeNode:
    return FakeNode(clock)


@pytest.fixture
async def gate(fake: FakeNode, session: aiohttp.ClientSession, clock: Any, serve: Any) -> Any:
    gate = Gate(NodeClient(session, Address("node-b", await serve(fake.application())), clock), clock)
    task = asyncio.create_task(gate.follower.follow())
    yield gate
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_records_arrive_as_the_node_judged_them_with_the_age_that_they_had_there(
    fake: FakeNode, gate: Gate, clock: Any
):
    sent = fake.ledger.put(run(), fresh_seconds=210, pool="pool")
    clock.advance(7)
    (record,) = await gate.receive()
    assert record == msgspec.structs.replace(sent, seq=1, received=clock.time - 7)
    state = gate.follower.state
    assert (state.membership, state.heard, state.epoch, state.problem) == (
        Membership.REACHABLE,
        clock.time,
        fake.ledger.epoch,
        "",
    )


async def test_as_what_a_pod_was_planned_is_for_the_gate_to_say_and_not_for_the_pod_or_a_nodes_agent(
    fake: FakeNode, gate: Gate
):
    fake.ledger.put(run(), planned_as="claimed")
    assert [record.planned_as for record in await gate.receive()] == [""]
    gate.follower.pod_digest = "planned"
    seq = gate.ledger.seq
    fake.ledger.put(run(), planned_as="claimed")
    assert [record.planned_as for record in await gate.ledger.after(seq, 5)] == ["planned"]


async def test_a_node_is_given_its_assignment_and_again_only_when_it_changes(fake: FakeNode, gate: Gate):
    fake.ledger.put(run())
    await fake.got_assignment.wait()
    await gate.receive()
    assert set(map(msgspec.json.encode, fake.assigned)) == {msgspec.json.encode(ASSIGNMENT)}
    fake.got_assignment.clear()
    gate.assignment = msgspec.structs.replace(ASSIGNMENT, term=2)
    gate.follower.reassign()
    await fake.got_assignment.wait()
    assert fake.assigned[-1] == gate.assignment


async def test_a_node_that_began_a_new_life_is_read_from_the_start_and_assigned_again(fake: FakeNode, gate: Gate):
    for _ in range(3):
        fake.ledger.put(run())
    await gate.receive()
    fake.restart()
    seen = gate.ledger.seq
    fake.ledger.put(run(status=Status.FAIL))
    await fake.got_assignment.wait()
    await gate.ledger.after(seen, 5)
    (record,) = gate.ledger.latest().values()
    assert record.run.findings[0].status is Status.FAIL
    assert gate.follower.state.epoch == fake.ledger.epoch


async def test_evidence_of_what_did_not_pass_is_fetched_whole(fake: FakeNode, gate: Gate):
    text = "state: PORT_DOWN\n" * 1000
    fetched = asyncio.Event()
    keep = gate.ledger.evidence.keep_text

    def keep_and_say(sha256: str, whole: str) -> bool:
        fetched.set()
        return keep(sha256, whole)

    gate.ledger.evidence.keep_text = keep_and_say  # type: ignore[method-assign]
    fake.ledger.put(run(status=Status.FAIL, text=text))
    (record,) = await gate.receive()
    await fetched.wait()
    assert gate.ledger.evidence.read(record.run.findings[0].evidence[0].sha256) == text


async def test_a_node_cannot_report_about_another(fake: FakeNode, gate: Gate):
    fake.ledger.put(run(target="node-a"))
    fake.ledger.put(run())
    (record,) = await gate.receive()
    assert record.run.target == "node-b"


async def test_a_nodes_agent_cannot_report_for_a_test_pod(fake: FakeNode, gate: Gate):
    fake.ledger.put(replace(run(), id="access.ports@pod", vantage="pod"))
    fake.ledger.put(run())
    (record,) = await gate.receive()
    assert record.run.id == "access.ports"


async def test_a_refusing_node_is_refused_and_asked_again_ever_more_slowly(
    fake: FakeNode, session: aiohttp.ClientSession, clock: Any, serve: Any
):
    fake.status = 401
    gate = Gate(NodeClient(session, Address("node-b", await serve(fake.application())), clock), clock)
    task = asyncio.create_task(gate.follower.follow())
    while len(gate.slept) < 6:
        gate.failed.clear()
        await gate.failed.wait()
    assert gate.slept[:6] == [0.25, 0.5, 1.0, 2.0, 4.0, 4.0]
    state = gate.follower.state
    assert state.membership is Membership.REFUSED
    assert state.problem == "node-b: HTTP status 401 found, 200 wanted (signature: made with another key)"
    fake.status = 200
    fake.ledger.put(run())
    await gate.receive()
    assert gate.follower.state.membership is Membership.REACHABLE
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_a_node_that_says_nothing_for_ten_seconds_is_silent(
    session: aiohttp.ClientSession, clock: Any, unused_tcp_port: int
):
    gate = Gate(NodeClient(session, Address("node-b", f"http://127.0.0.1:{unused_tcp_port}"), clock), clock)
    assert gate.follower.state.membership is Membership.UNKNOWN
    task = asyncio.create_task(gate.follower.follow())
    await gate.failed.wait()
    assert gate.follower.state.membership is Membership.UNKNOWN
    clock.advance(10.1)
    state = gate.follower.state
    assert (state.membership, state.heard) == (Membership.SILENT, 0.0)
    assert state.problem.startswith("node-b: ")
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
