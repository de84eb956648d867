"""One fault from start to end: made, seen, restored, recovered, and what it left behind."""

import asyncio
import signal
import time
import urllib.error
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from deploy.demo.session import Say, Session
from deploy.faults.cases import Case, Made
from deploy.faults.machine import left_behind, peak_memory_mib, state_of
from deploy.faults.path_check import SERVER, PathCheck
from deploy.faults.paused import see_paused
from deploy.faults.sights import AtGate, InTest, Seen, Sight
from deploy.lab import Lab
from probes import Finding, Status

POLL_SECONDS = 0.05
AGAIN_SECONDS = 1.0
RECOVER_LIMIT_SECONDS = 90.0
OPEN = frozenset({"pass", "not_applicable", "accepted"})


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


async def make(world: World, made: tuple[Made, ...]) -> float:
    """Make the faults one after the other and return the monotonic second at which the last was made."""
    for one in made:
        await asyncio.to_thread(world.lab.node(one.node).fault, *one.fault)
    return time.monotonic()


async def _see(world: World, sight: Sight, made: tuple[Made, ...]) -> Seen:
    if isinstance(sight, AtGate):
        return await _see_at_gate(world, sight, made)
    await make(world, made)
    if isinstance(sight, InTest):
        return await _see_in_test(world, sight)
    return await see_paused(world.lab, world.path, sight)


async def _see_at_gate(world: World, sight: AtGate, made: tuple[Made, ...]) -> Seen:
    # A gate that still shows an earlier fault would seem to have seen this one at once.
    await _recovered(world, sight, time.monotonic())
    making = asyncio.create_task(make(world, made))
    looking = time.monotonic()
    found: Mapping[str, Any] | None = None
    while time.monotonic() < looking + sight.limit_seconds:
        if found := _shown(await _cell(world.session, sight), sight):
            break
        await asyncio.sleep(POLL_SECONDS)
    seen_at = time.monotonic()
    seconds = max(0.0, seen_at - await making)
    if found is None:
        cell = await _cell(world.session, sight)
        status, why = str(cell.get("status", "")), str(cell.get("why", ""))
        return Seen(as_wanted=False, status=status, reason="", summary=why, seconds=seconds)
    status, reason, summary = found["status"], found["reason"], found["summary"]
    return Seen(as_wanted=True, status=status, reason=reason, summary=summary, seconds=seconds)


def _shown(cell: Mapping[str, Any], sight: AtGate) -> Mapping[str, Any] | None:
    if cell.get("status") != sight.wanted.status:
        return None
    findings = (one for one in cell["findings"] if one["reason"] in sight.wanted.reasons)
    return next(findings, None)


async def _cell(session: Session, sight: AtGate) -> Mapping[str, Any]:
    try:
        return await asyncio.to_thread(session.cell, sight.node, sight.check)
    except (OSError, urllib.error.URLError):
        return {}


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
        return (await _cell(world.session, sight)).get("status") in OPEN
    run = await asyncio.to_thread(world.path.run, sight.test, {})
    return run.findings[0].status is Status.PASS


async def _peak(world: World, case: Case) -> float:
    return await asyncio.to_thread(peak_memory_mib, world.lab.node(SERVER)) if case.watches_memory else 0.0
