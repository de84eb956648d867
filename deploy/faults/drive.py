"""One fault from start to end: made, seen, restored, recovered, and what it left behind."""

import asyncio
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from deploy.demo.session import Session
from deploy.faults.at_gate import OPEN, POLL_SECONDS, gate_cell, see_at_gate
from deploy.faults.cases import Case, Made
from deploy.faults.machine import left_behind, peak_memory_mib, state_of
from deploy.faults.path_check import SERVER, PathCheck
from deploy.faults.paused import see_paused
from deploy.faults.sights import AtGate, InTest, Seen, Sight
from deploy.lab import Lab
from deploy.lab.progress import Say
from probes import Finding, Status

AGAIN_SECONDS = 1.0
RECOVER_LIMIT_SECONDS = 90.0


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table. ``recovered_seconds`` is None where the place did not recover in time."""

    case: str
    sight: Sight
    seen: Seen
    recovered_seconds: float | None
    left_behind: str


@dataclass(frozen=True, slots=True)
class World:
    """The cluster that is broken, and its state before any fault."""

    session: Session
    lab: Lab
    path: PathCheck
    state: frozenset[str]
    say: Say


async def drive(world: World, case: Case) -> tuple[Row, ...]:
    """Return a row for each of the case's sights; the lab is restored in any case."""
    if any(isinstance(sight, AtGate) for sight in case.sights):
        return await _drive(world, case)
    with gate_held(world.session):
        return await _drive(world, case)


@contextmanager
def gate_held(session: Session) -> Iterator[None]:
    """Stop the gate's process: a node takes one test at a time, and the gate's would compete with those asked for."""
    session.signal_gate(signal.SIGSTOP)
    try:
        yield
    finally:
        session.signal_gate(signal.SIGCONT)


async def _drive(world: World, case: Case) -> tuple[Row, ...]:
    peak = await _peak(world, case)
    try:
        seen = [await _see(world, sight, case.made if number == 0 else ()) for number, sight in enumerate(case.sights)]
        peak_after = await _peak(world, case)
    finally:
        began = time.monotonic()
        await asyncio.to_thread(world.lab.restore)
    recovered = [await _recovered(world, sight, began) for sight in case.sights]
    left = left_behind(world.state, await asyncio.to_thread(state_of, world.lab))
    if case.watches_memory:
        left += f" (node's peak memory {peak:.0f} MiB before, {peak_after:.0f} MiB after)"
    return tuple(Row(case.title, *one, left) for one in zip(case.sights, seen, recovered, strict=True))


async def make(lab: Lab, made: tuple[Made, ...]) -> float:
    """Make the faults one after the other and return the monotonic second at which the last was made."""
    for one in made:
        await asyncio.to_thread(lab.node(one.node).fault, *one.fault)
    return time.monotonic()


async def _see(world: World, sight: Sight, made: tuple[Made, ...]) -> Seen:
    if isinstance(sight, AtGate):
        # A gate that still shows an earlier fault would seem to have seen this one at once.
        await _recovered(world, sight, time.monotonic())
        return await see_at_gate(world.session, sight, make(world.lab, made))
    await make(world.lab, made)
    if isinstance(sight, InTest):
        return await _see_in_test(world, sight)
    return await see_paused(world.lab, world.path, sight)


async def _see_in_test(world: World, sight: InTest) -> Seen:
    began = time.monotonic()
    testing = asyncio.create_task(asyncio.to_thread(world.path.run, sight.test, sight.settings))
    while sight.again and not testing.done():
        await asyncio.wait({testing}, timeout=AGAIN_SECONDS)
        await asyncio.to_thread(world.lab.node(SERVER).fault, *sight.again)
    run = await testing
    return _judged(run.findings[0], sight, time.monotonic() - began)


def _judged(finding: Finding, sight: InTest, seconds: float) -> Seen:
    wanted = (finding.status.value, finding.reason)
    as_wanted = wanted[0] == sight.wanted.status and wanted[1] in sight.wanted.reasons
    return Seen(as_wanted, *wanted, finding.summary, seconds)


async def _recovered(world: World, sight: Sight, began: float) -> float | None:
    while time.monotonic() < began + RECOVER_LIMIT_SECONDS:
        if await _is_well(world, sight):
            return time.monotonic() - began
        await asyncio.sleep(POLL_SECONDS)
    return None


async def _is_well(world: World, sight: Sight) -> bool:
    if isinstance(sight, AtGate):
        return (await gate_cell(world.session, sight)).get("status") in OPEN
    run = await asyncio.to_thread(world.path.run, sight.test, {})
    return run.findings[0].status is Status.PASS


async def _peak(world: World, case: Case) -> float:
    return await asyncio.to_thread(peak_memory_mib, world.lab.node(SERVER)) if case.watches_memory else 0.0
