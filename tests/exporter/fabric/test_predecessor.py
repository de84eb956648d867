"""A waiting gate keeps what the leading one found, and brings it in with its age when it has to lead itself."""

from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import msgspec
import pytest
from aiohttp import web

from exporter.clock import SystemClock
from exporter.evidence import EvidenceStore
from exporter.fabric.carried import PAGE, carried, carried_numbers, carried_page
from exporter.fabric.node_client import Address
from exporter.fabric.predecessor import Predecessor
from exporter.fabric.wire import Problem, Records
from exporter.ledger import Ledger, Record
from probes import Finding, Run, Status, Subject
from tests.exporter.cluster.conftest import running, until

PATH = "a:mlx5_0>b:mlx5_0"
NOW = 1_000_000.0


class Hand(SystemClock):
    """Real waiting, time by hand."""

    seconds = NOW

    def now(self):
        return self.seconds

    def monotonic(self):
        return self.seconds


def record(target, age, seq=1, *, vantage="host", run_id="ping"):
    finding = Finding(Subject("a"), Status.PASS, "", "as planned")
    run = Run("connectivity.ping_pong", run_id, target, vantage, (finding,), 1.0, 2.0, "plan", "", "0.1.0")
    return Record(seq, NOW - age, run, (), 3600.0, "h100", "as-planned")


@dataclass
class Leader:
    """A leading gate that answers what is put into ``answers``, the last one again and again."""

    answers: list[Records] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    refuses: bool = False

    async def records(self, request):
        self.asked.append(request.query_string)
        if self.refuses:
            return web.Response(status=403, body=msgspec.json.encode(Problem("bad_key", "key: wrong")))
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return web.Response(body=msgspec.json.encode(answer))

    @asynccontextmanager
    async def serving(self):
        app = web.Application()
        app.router.add_get("/v1/records", self.records)
        runner = web.AppRunner(app)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port = runner.addresses[0][1]
        try:
            yield Address("gate-a", f"http://127.0.0.1:{port}")
        finally:
            await runner.cleanup()


@pytest.fixture
def clock():
    return Hand()


@pytest.fixture
def ledger(clock, tmp_path):
    return Ledger(None, EvidenceStore(tmp_path), clock.now)


async def test_what_was_heard_is_put_in_with_its_age_and_the_cycle_with_it(clock, ledger):
    first = Records("life", 7, (record(PATH, 100),), NOW, {"cycle_number": 3.0})
    leader = Leader([first, Records("life", 7, (), NOW, {"cycle_number": 4.0})])
    async with leader.serving() as address:
        following = Predecessor(lambda: address, clock)
        async with running(following.run()):
            await until(lambda: len(leader.asked) > 1 and following.numbers == {"cycle_number": 4.0})
    assert leader.asked[:2] == ["after=-1&carried=1", "after=7&epoch=life&carried=1"]
    assert ledger.latest() == {}, "nothing counts before this gate leads"
    clock.seconds += 5
    assert following.hand_over(ledger) == 1
    (kept,) = ledger.latest().values()
    assert (kept.run.target, kept.received, kept.fresh_seconds, kept.pool) == (PATH, NOW - 100, 3600.0, "h100")
    assert kept.planned_as == "as-planned", "or each takeover would make test pods anew"
    assert ledger.tokens == {"cycle_number": 4.0}
    assert following.hand_over(ledger) == 0


async def test_what_this_gate_has_newer_itself_stays(clock, ledger):
    leader = Leader([Records("life", 1, (record(PATH, 100),), NOW)])
    ledger.receive(record(PATH, 0), age_seconds=50.0)
    async with leader.serving() as address:
        following = Predecessor(lambda: address, clock)
        async with running(following.run()):
            await until(lambda: following.held)
    assert following.hand_over(ledger) == 0
    assert ledger.get(("connectivity.ping_pong", "ping", PATH)).received == NOW - 50


async def test_another_life_of_the_leader_takes_back_what_it_no_longer_has(clock):
    leader = Leader([Records("life", 1, (record(PATH, 1),), NOW), Records("other", 1, (record("c:x>d:x", 1),), NOW)])
    async with leader.serving() as address:
        following = Predecessor(lambda: address, clock)
        async with running(following.run()):
            await until(lambda: {key[2] for key in following.held} == {"c:x>d:x"})


async def test_a_leader_that_refuses_is_said_once_and_what_was_heard_is_kept(clock, caplog):
    leader = Leader([Records("life", 1, (record(PATH, 1),), NOW)])
    hurried = Hurried()
    async with leader.serving() as address:
        following = Predecessor(lambda: address, hurried)
        async with running(following.run()):
            await until(lambda: following.held)
            leader.refuses, before = True, len(leader.asked)
            await until(lambda: len(leader.asked) > before + 3)
    assert len(following.held) == 1
    assert [one.message for one in caplog.records if "tested anew" in one.message] == [
        "the leading gate: gate-a: HTTP status 403 found, 200 wanted (key: wrong); "
        "paths are tested anew if this gate has to lead now"
    ]


class Hurried(Hand):
    async def wait(self, event, limit_seconds):
        await super().wait(event, min(limit_seconds, 0.005))


def test_only_what_no_node_will_tell_again_is_carried():
    told = [record("a", 1), record("a", 1, vantage="pod", run_id="access.ports")]
    kept = [record(PATH, 1), record("a", 1, vantage="api"), record("a", 1, vantage="pod", run_id="access.ports@pod")]
    assert carried([*told, *kept]) == tuple(kept)
    assert carried_page([*told, *kept], 9) == (tuple(kept), 9)
    assert carried_numbers({"bytes": 5.0, "cycle_number": 2.0, "cycle_started": 9.0}) == {
        "cycle_number": 2.0,
        "cycle_started": 9.0,
    }


def test_very_many_are_told_page_by_page():
    many = [record(f"a:{number}>b:{number}", 1, seq=number) for number in range(PAGE + 2)]
    first, seq = carried_page(many, PAGE + 1)
    assert (len(first), seq) == (PAGE, PAGE - 1)
    assert carried_page([one for one in many if one.seq > seq], PAGE + 1) == (tuple(many[PAGE:]), PAGE + 1)
