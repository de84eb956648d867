import asyncio
from dataclasses import dataclass, field, replace

import msgspec
import pytest
from aiohttp.test_utils import TestClient, TestServer

from exporter.assignment import Assignment, Claim
from exporter.fabric.wire import LeaseState, Problem, Records, Started, StartTest
from exporter.slots import Lease
from exporter.web.app import make_app
from probes import Evidence, Finding, ProbeError, Run, Status, Subject
from probes._endpoint import Ended, Outcome, Ready, Refused, TestRequest, Tool

JSON = {"Content-Type": "application/json"}
REQUEST = TestRequest(Tool.WRITE_BW, "mlx5_0", "node-b", 65536, 100, 10.0)
READY = Ready("::ffff:10.0.0.1", 3, 20001, 4096, "Ethernet")
OUTCOME = Outcome(("ib_write_bw",), Ended.EXIT, 0, "out", "", 1.5, "6.19", READY, {"x": 1}, {"x": 2})


@dataclass
class Guard:
    times_heard: int = 0
    obeyed: list[Claim] = field(default_factory=list)
    asked: list[Lease] = field(default_factory=list)
    given_back: list[str] = field(default_factory=list)

    @property
    def slots(self) -> "Guard":
        return self

    def heard(self) -> None:
        self.times_heard += 1

    def obey(self, claim: Claim) -> None:
        self.obeyed.append(claim)
        if claim.gate == "gate-2":
            raise Refused("two_gates", "node-a: gates gate-2 and gate-1")

    async def take_slot(self, lease: Lease, limit_seconds: float) -> str:
        self.asked.append(lease)
        return "" if len(self.asked) > 1 else "ana since 2 s"

    def give_back(self, name: str) -> None:
        self.given_back.append(name)


@dataclass
class FakeTests:
    outcome: Outcome | None = None
    error: Exception | None = None
    stopped: list[str] = field(default_factory=list)
    guard: Guard = field(default_factory=Guard)

    async def start(self, request: TestRequest, lease: str) -> Started:
        if self.error:
            raise self.error
        assert (request, lease) == (REQUEST, "lease1")
        return Started("t1", READY)

    async def wait(self, name: str, limit_seconds: float) -> Outcome | None:
        return {"t1": self.outcome}[name]

    async def stop(self, name: str) -> None:
        self.stopped.append(name)


def run(target: str = "node-a") -> Run:
    found = Finding(Subject(node=target), Status.PASS, "", "machine: well", evidence=(Evidence("said", "all well"),))
    return Run("access.ports", "access.ports", target, "host", (found,), 1.0, 2.0, "plan-1", "boot-1", "0.1.0")


def records(body: bytes) -> Records:
    return msgspec.json.decode(body, type=Records)


def problem(body: bytes) -> Problem:
    return msgspec.json.decode(body, type=Problem)


async def test_records_are_those_newer_than_asked_for(ask, services, ledger):
    first, second = ledger.put(run("node-a")), ledger.put(run("node-b"))
    status, _, body = await ask(services, "GET", "/v1/records?after=0")
    assert (status, records(body)) == (200, Records(ledger.epoch, 2, (first, second), ledger.now()))
    _, _, body = await ask(services, "GET", f"/v1/records?after=1&epoch={ledger.epoch}")
    assert records(body) == Records(ledger.epoch, 2, (second,), ledger.now())


async def test_a_gate_that_waits_to_lead_is_told_what_no_node_will_tell_it(ask, services, ledger):
    ledger.tokens |= {"cycle_number": 3.0, "bytes": 1.0}
    path, _ = ledger.put(run("node-a:mlx5_0>node-b:mlx5_0")), ledger.put(run("node-a"))
    _, _, body = await ask(services, "GET", "/v1/records?after=-1&carried=1")
    assert records(body) == Records(ledger.epoch, 2, (path,), ledger.now(), {"cycle_number": 3.0})


async def test_a_gate_that_follows_says_who_it_is_and_a_second_one_is_refused(ask, services):
    tests = FakeTests()
    services = replace(services, tests=tests)
    assert (await ask(services, "GET", "/v1/records?after=-1&gate=gate-1&term=4"))[0] == 200
    status, _, body = await ask(services, "GET", "/v1/records?after=-1&gate=gate-2&term=4")
    assert (status, problem(body)) == (409, Problem("two_gates", "node-a: gates gate-2 and gate-1"))
    assert tests.guard.obeyed == [Claim("gate-1", 4), Claim("gate-2", 4)]


async def test_a_slot_is_waited_for_held_and_given_back(ask, services):
    tests = FakeTests()
    services = replace(services, tests=tests)
    lease = Lease("lease1", Claim("gate-1", 4), "gate gate-1 for bw", 60.0)
    body = msgspec.json.encode(lease)
    for state in (LeaseState("ana since 2 s"), LeaseState()):
        status, _, answer = await ask(services, "POST", "/v1/leases", data=body, headers=JSON)
        assert (status, msgspec.json.decode(answer, type=LeaseState)) == (200, state)
    assert (await ask(services, "DELETE", "/v1/leases/lease1"))[0] == 204
    assert (tests.guard.asked, tests.guard.given_back) == ([lease, lease], ["lease1"])


async def test_a_follower_of_an_earlier_life_starts_again(ask, services, ledger):
    only = ledger.put(run())
    _, _, body = await ask(services, "GET", "/v1/records?after=900&epoch=gone")
    assert records(body) == Records(ledger.epoch, 1, (only,), ledger.now())


async def test_a_waiting_follower_is_answered_as_soon_as_something_happens(services, ledger):
    async with TestClient(TestServer(make_app(services))) as client:
        asking = asyncio.ensure_future(client.get("/v1/records", params={"after": "0", "epoch": ledger.epoch}))
        while not ledger._news._waiters:
            await asyncio.sleep(0)
        record = ledger.put(run())
        answer = await asking
        assert records(await answer.read()) == Records(ledger.epoch, 1, (record,), ledger.now())


async def test_a_number_that_is_none_is_refused_with_a_sentence(ask, services):
    status, _, body = await ask(services, "GET", "/v1/records?after=soon")
    assert (status, problem(body).reason) == (400, "bad_request")


async def test_an_assignment_is_taken_over(ask, services):
    taken: list[Assignment] = []
    assignment = Assignment("lab", "node-a", "h100", "plan-1", term=3)
    services = replace(services, assign=taken.append)
    status, _, _ = await ask(services, "POST", "/v1/assignment", data=msgspec.json.encode(assignment), headers=JSON)
    assert (status, taken) == (204, [assignment])


async def test_an_assignment_that_is_not_this_nodes_is_refused_with_its_sentence(ask, services):
    def refuse(assignment: Assignment) -> None:
        raise ValueError(f"node: {assignment.node} found, node-a wanted")

    body = msgspec.json.encode(Assignment("lab", "node-b", "h100", "plan-1"))
    status, _, body = await ask(replace(services, assign=refuse), "POST", "/v1/assignment", data=body, headers=JSON)
    assert (status, problem(body)) == (
        400,
        Problem("bad_request", "/v1/assignment: node: node-b found, node-a wanted"),
    )


@pytest.mark.parametrize("body", [b"", b"{", b'{"cluster": "lab"}', b'{"command": "reboot"}'])
async def test_an_assignment_that_cannot_be_read_is_refused(ask, services, body):
    services = replace(services, assign=lambda assignment: None)
    status, _, answer = await ask(services, "POST", "/v1/assignment", data=body, headers=JSON)
    assert (status, problem(answer).reason) == (400, "bad_request")


async def test_a_body_over_the_limit_is_refused(ask, services):
    services = replace(services, assign=lambda assignment: None)
    status, _, body = await ask(services, "POST", "/v1/assignment", data=b" " * (5 << 20), headers=JSON)
    assert (status, problem(body).reason) == (413, "http")


async def test_a_test_is_started_awaited_and_stopped(ask, services):
    tests = FakeTests()
    services = replace(services, tests=tests)
    body = msgspec.json.encode(StartTest("lease1", REQUEST))
    status, _, answer = await ask(services, "POST", "/v1/tests", data=body, headers=JSON)
    assert (status, msgspec.json.decode(answer, type=Started)) == (200, Started("t1", READY))
    assert (await ask(services, "GET", "/v1/tests/t1"))[0] == 204
    tests.outcome = OUTCOME
    status, _, answer = await ask(services, "GET", "/v1/tests/t1")
    assert (status, msgspec.json.decode(answer, type=Outcome)) == (200, OUTCOME)
    assert (await ask(services, "DELETE", "/v1/tests/t1"))[0] == 204
    assert (tests.stopped, tests.guard.times_heard) == (["t1"], 4)


@pytest.mark.parametrize(
    ("error", "status"), [(Refused("paused", "node-a: paused"), 409), (ProbeError("tool_missing", "absent"), 422)]
)
async def test_a_refusal_carries_its_reason(ask, services, error, status):
    body = msgspec.json.encode(StartTest("lease1", REQUEST))
    found, _, answer = await ask(
        replace(services, tests=FakeTests(error=error)), "POST", "/v1/tests", data=body, headers=JSON
    )
    assert (found, problem(answer)) == (status, Problem(error.reason, error.summary))


async def test_a_command_line_is_no_test_request(ask, services):
    body = b'{"lease": "lease1", "request": {"tool": "sh", "argv": ["-c", "id"]}}'
    status, _, answer = await ask(replace(services, tests=FakeTests()), "POST", "/v1/tests", data=body, headers=JSON)
    assert (status, problem(answer).reason) == (400, "bad_request")


async def test_an_unknown_test_is_not_found(ask, services):
    status, _, body = await ask(replace(services, tests=FakeTests()), "GET", "/v1/tests/t9")
    assert (status, problem(body).reason) == (404, "unknown_test")


async def test_a_process_without_tests_says_so(ask, services):
    status, _, body = await ask(services, "DELETE", "/v1/tests/t1")
    assert (status, problem(body).summary) == (404, "DELETE /v1/tests/t1: no tests in this process's roles")


async def test_evidence_comes_whole_and_as_plain_text(ask, services, ledger):
    kept = ledger.evidence.keep(Evidence("page", "<script>alert(1)</script>" + "x" * 10_000))
    status, headers, body = await ask(services, "GET", f"/v1/evidence/{kept.sha256}")
    assert (status, len(body)) == (200, 10_025)
    assert (headers["Content-Type"], headers["X-Content-Type-Options"]) == ("text/plain; charset=utf-8", "nosniff")


@pytest.mark.parametrize("digest", ["00" * 32, "..%2F..%2Fetc%2Fpasswd"])
async def test_evidence_that_is_not_kept_is_not_found(ask, services, digest):
    assert (await ask(services, "GET", f"/v1/evidence/{digest}"))[0] == 404


async def test_pausing_says_who_wanted_it(ask, services):
    said: list[tuple[bool, str]] = []
    services = replace(services, pause=lambda paused, who: said.append((paused, who)))
    for body in (b'{"paused": true, "who": "ana"}', b'{"paused": false}'):
        assert (await ask(services, "POST", "/v1/pause", data=body, headers=JSON))[0] == 204
    assert said == [(True, "ana"), (False, "the API")]


async def test_the_path_matrix_is_json(ask, services):
    rows = [{"client": "a:mlx5_0", "server": "b:mlx5_0", "state": "pass"}]
    _, _, body = await ask(replace(services, paths=lambda: rows), "GET", "/v1/paths")
    assert msgspec.json.decode(body) == rows
