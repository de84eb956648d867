import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from exporter.assignment import Assignment, Budget, Claim, Member
from exporter.demands import PortLoad
from exporter.guard import Guard
from exporter.slots import Lease
from probes._endpoint import Buffer, Refused, TestRequest, Tool

QUIET = PortLoad(0.0, 50e9)
BUDGET = Budget(tests_enabled=True, bytes_per_node_per_hour=10_000)
ASSIGNMENT = Assignment(
    cluster="lab",
    node="node-a",
    pool="pool",
    plan_digest="d1",
    reviewed=True,
    term=3,
    members=(Member("node-a"), Member("node-b")),
    budget=BUDGET,
)
CLIENT = TestRequest(Tool.WRITE_BW, "rxe0", "node-b", 100, 10, 10.0, peer_port=20001)
SERVER = replace(CLIENT, peer_port=None)
HELD = "lease1"
GATE = Claim("g1", 3)


class Machine:
    """Two clocks and a port whose load is settable."""

    def __init__(self) -> None:
        self.time = 1_800_000_000.0
        self.waited = 5000.0
        self.load = QUIET

    def now(self) -> float:
        return self.time

    def monotonic(self) -> float:
        return self.waited

    def advance(self, seconds: float) -> None:
        self.time += seconds
        self.waited += seconds

    async def measure_load(self, request: TestRequest) -> PortLoad:
        return self.load


@pytest.fixture
def machine() -> Machine:
    return Machine()


def make_guard(machine: Machine, assignment: Assignment | None = ASSIGNMENT, **options: Any) -> Guard:
    """A guard on whose node a slot is held under HELD."""
    tokens = options.pop("tokens", {})
    guard = Guard(lambda: assignment, tokens, machine, measure_load=machine.measure_load, **options)
    guard.slots.ask(lease())
    return guard


def lease(name: str = HELD, claim: Claim = GATE, holder: str = "gate g1 for bw") -> Lease:
    return Lease(name, claim, holder, 60.0)


def changed(**changes: Any) -> Assignment:
    budget = msgspec.structs.replace(BUDGET, **changes.pop("budget", {}))
    return msgspec.structs.replace(ASSIGNMENT, budget=budget, **changes)


async def refusal(guard: Guard, request: TestRequest = CLIENT) -> tuple[str, str]:
    with pytest.raises(Refused) as raised:
        await guard.admit(request, HELD)
    assert guard.deferrals == {raised.value.reason: 1}
    assert guard.tests_outstanding == 0
    assert not guard.test_bytes
    return raised.value.reason, raised.value.summary


async def test_a_planned_test_on_a_quiet_port_is_admitted_and_counted(machine: Machine):
    guard = make_guard(machine)
    assert await guard.admit(CLIENT, HELD) == ""
    assert (guard.tests_outstanding, guard.test_bytes, guard.deferrals) == (1, {"sent": 1000}, {})
    guard.release(HELD)
    assert guard.tests_outstanding == 0


@pytest.mark.parametrize(
    ("assignment", "wanted"),
    [
        (None, ("no_assignment", "node: no assignment by a gate, one needed")),
        (
            changed(budget={"tests_enabled": False}),
            ("tests_disabled", "node-a: tests_enabled false in the plan, true wanted"),
        ),
        (changed(reviewed=False), ("plan_unreviewed", "node-a: plan not reviewed, a reviewed one wanted")),
        (changed(pool=""), ("node_unplanned", "node-a: in no pool of the plan, one wanted")),
        (
            changed(members=(Member("node-a"),)),
            ("peer_unplanned", "node-a: peer 'node-b' is no member, a planned one wanted"),
        ),
        (
            changed(budget={"bytes_per_node_per_hour": 999}),
            ("budget", "node-a: 1000 bytes wanted, more than the whole 999 of an hour"),
        ),
    ],
)
async def test_what_the_assignment_does_not_allow_is_refused(
    machine: Machine, assignment: Assignment | None, wanted: tuple[str, str]
):
    assert await refusal(make_guard(machine, assignment)) == wanted


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"message_bytes": 0}, "message_bytes: 0 found, 1 to 1073741824 wanted"),
        ({"iterations": 4}, "iterations: 4 found, 5 to 100000000 wanted"),
        ({"queue_pairs": 257}, "queue_pairs: 257 found, 1 to 256 wanted"),
        ({"peer_port": 22}, "peer_port: 22 found, 20000 to 29999 wanted"),
        ({"limit_seconds": 3601.0}, "limit_seconds: 3601 found, 0.1 to 600 wanted"),
        ({"limit_seconds": float("nan")}, "limit_seconds: nan found, 0.1 to 600 wanted"),
        ({"path_mtu_bytes": 1500}, "path_mtu_bytes: 1500 found, one of 0, 256, 512, 1024, 2048, 4096 wanted"),
        ({"traffic_class": -1}, "traffic_class: -1 found, 0 to 255 wanted"),
        ({"tool": Tool.WRITE_LAT, "buffer": Buffer.CUDA}, "buffer: cuda found for ib_write_lat, host wanted"),
        ({"tool": Tool.RC_PINGPONG, "buffer": Buffer.CUDA}, "buffer: cuda found for ibv_rc_pingpong, host wanted"),
    ],
)
async def test_what_is_out_of_bounds_is_refused(machine: Machine, changes: dict[str, Any], sentence: str):
    assert await refusal(make_guard(machine), replace(CLIENT, **changes)) == ("out_of_bounds", sentence)


async def test_a_term_once_seen_outdates_lower_ones(machine: Machine):
    guard = make_guard(machine)
    with pytest.raises(Refused, match="node-a: gate g0 of term 2 found, at least 3 wanted"):
        guard.obey(Claim("g0", 2))
    guard.obey(Claim("g2", 7))
    with pytest.raises(Refused, match="gate g1 of term 6 found, at least 7 wanted"):
        guard.obey(Claim("g1", 6))
    assert guard.deferrals == {"old_term": 2}


async def test_of_two_gates_of_one_term_the_first_is_obeyed_until_it_was_silent(machine: Machine):
    guard = make_guard(machine)
    guard.obey(GATE)
    machine.advance(4)
    with pytest.raises(Refused) as raised:
        guard.obey(Claim("g2", 3))
    assert (raised.value.reason, raised.value.summary) == (
        "two_gates",
        "node-a: gates g2 and g1 spoke 4 s ago, both of term 3; one gate wanted",
    )
    guard.obey(GATE)
    machine.advance(10.1)
    guard.obey(Claim("g2", 3))
    with pytest.raises(Refused, match="gates g1 and g2 spoke 0 s ago"):
        guard.obey(GATE)
    assert guard.deferrals == {"two_gates": 2}


async def test_a_gate_of_a_newer_term_takes_over_at_once(machine: Machine):
    guard = make_guard(machine)
    guard.obey(GATE)
    guard.obey(Claim("g2", 4))
    assert guard.leader.gate == "g2"


async def test_a_person_claims_nothing_beside_a_gate(machine: Machine):
    guard = make_guard(machine)
    guard.obey(GATE)
    guard.obey(Claim())
    assert guard.leader.gate == "g1"


async def test_a_lease_of_a_second_gate_is_refused_and_ends_where_it_was_held(machine: Machine):
    guard = make_guard(machine)
    guard.obey(Claim("g2", 4))
    with pytest.raises(Refused, match="gate g1 of term 3 found, at least 4 wanted"):
        await guard.take_slot(lease(), 0)
    assert await refusal(guard_counted_anew(guard)) == (
        "no_lease",
        "node-a: a test without a slot of this node, a lease of one wanted",
    )


def guard_counted_anew(guard: Guard) -> Guard:
    guard.deferrals.clear()
    return guard


@pytest.mark.parametrize(
    ("assignment", "reason"),
    [(None, "no_assignment"), (changed(reviewed=False), "plan_unreviewed"), (changed(pool=""), "node_unplanned")],
)
async def test_no_slot_is_given_where_nothing_would_be_tested(
    machine: Machine, assignment: Assignment | None, reason: str
):
    guard = make_guard(machine, assignment)
    with pytest.raises(Refused) as raised:
        await guard.take_slot(lease("lease2"), 0)
    assert (raised.value.reason, guard.deferrals) == (reason, {reason: 1})


async def test_no_slot_is_given_while_paused_and_the_wait_for_one_counts_once(machine: Machine):
    guard = make_guard(machine)
    assert await guard.take_slot(lease("lease2"), 0) == "gate g1 for bw since 0 s"
    guard.pause("ana")
    with pytest.raises(Refused, match="testing paused by ana"):
        await guard.take_slot(lease("lease2"), 0)
    assert guard.deferrals == {"paused": 1}


async def test_a_test_needs_a_slot(machine: Machine):
    guard = make_guard(machine)
    with pytest.raises(Refused, match="a test without a slot of this node"):
        await guard.admit(CLIENT, "another")


async def test_one_test_runs_in_a_slot(machine: Machine):
    guard = make_guard(machine)
    await guard.admit(CLIENT, HELD)
    with pytest.raises(Refused, match="node-a: 1 test ends running in this slot, at most 1 wanted"):
        await guard.admit(SERVER, HELD)


async def test_two_requests_at_the_same_moment_do_not_both_pass(machine: Machine):
    guard = make_guard(machine)
    answers = await asyncio.gather(guard.admit(CLIENT, HELD), guard.admit(CLIENT, HELD), return_exceptions=True)
    assert [type(answer) for answer in answers] == [str, Refused]


async def test_both_ends_of_a_path_inside_one_node_are_one_test(machine: Machine):
    guard = make_guard(machine)
    await guard.admit(replace(SERVER, peer="node-a"), HELD)
    await guard.admit(replace(CLIENT, peer="node-a"), HELD)
    assert guard.test_bytes == {"received": 1000, "sent": 1000}


async def test_bytes_are_budgeted_across_restarts(machine: Machine):
    tokens: dict[str, float] = {}
    spent: list[bool] = []
    guard = make_guard(machine, tokens=tokens, spent=lambda: spent.append(True))
    await guard.admit(replace(CLIENT, iterations=95), HELD)
    assert spent == [True]
    again = make_guard(machine, tokens=tokens)
    assert await refusal(again) == ("budget", "node-a: 1000 bytes wanted, within budget in 180 s")
    machine.advance(180)
    assert await again.admit(CLIENT, HELD) == ""


async def test_tests_that_send_both_ways_cost_both_ways(machine: Machine):
    guard = make_guard(machine)
    await guard.admit(replace(CLIENT, tool=Tool.RC_PINGPONG), HELD)
    assert guard.test_bytes == {"sent": 1000, "received": 1000}
    guard.release(HELD)
    with pytest.raises(Refused, match="8200 bytes wanted"):
        await guard.admit(replace(CLIENT, tool=Tool.WRITE_LAT, iterations=41), HELD)


async def test_a_read_client_receives(machine: Machine):
    guard = make_guard(machine)
    await guard.admit(replace(CLIENT, tool=Tool.READ_BW), HELD)
    assert guard.test_bytes == {"received": 1000}


async def test_a_port_in_use_by_others_defers_and_takes_nothing(machine: Machine):
    machine.load = PortLoad(1e9, 50e9)
    tokens: dict[str, float] = {}
    guard = make_guard(machine, tokens=tokens)
    sentence = "rxe0: 2.0% of the port's rate in use by others, at most 1.0% wanted"
    assert await refusal(guard) == ("port_busy", sentence)
    assert tokens == {}


@pytest.mark.parametrize(
    ("load", "note"),
    [
        (PortLoad(None, 50e9), "; the port's load could not be told: it counts neither bytes nor packets"),
        (PortLoad(1e9, None), "; the port's load could not be told: its rate is unknown"),
    ],
)
async def test_a_load_that_cannot_be_told_is_allowed_with_a_note(machine: Machine, load: PortLoad, note: str):
    machine.load = load
    assert await make_guard(machine).admit(CLIENT, HELD) == note


async def test_a_pause_file_pauses_and_its_removal_resumes(machine: Machine, tmp_path: Path):
    file = tmp_path / "paused"
    file.write_text("by hand\n")
    guard = make_guard(machine, pause_file=file)
    assert await refusal(guard) == ("paused", f"node-a: testing paused by pause file {file}")
    file.unlink()
    assert await guard.admit(CLIENT, HELD) == ""


async def test_a_pause_by_the_api_survives_a_restart(machine: Machine, tmp_path: Path):
    file = tmp_path / "paused"
    make_guard(machine, pause_file=file).pause("ana")
    again = make_guard(machine, pause_file=file)
    assert (again.paused, file.read_text()) == (f"pause file {file}", "ana\n")
    again.resume()
    assert (again.paused, file.exists()) == ("", False)


def test_running_tests_end_when_paused_disabled_or_without_a_gate(machine: Machine):
    guard = make_guard(machine)
    assert guard.must_stop() == ""
    guard.pause("ana")
    assert guard.must_stop() == "paused"
    guard.resume()
    machine.advance(10.1)
    assert guard.must_stop() == "gate_lost"
    guard.heard()
    assert guard.must_stop() == ""
    assert make_guard(machine, changed(budget={"tests_enabled": False})).must_stop() == "tests_disabled"
    assert make_guard(machine, None).must_stop() == "tests_disabled"
