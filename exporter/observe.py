"""Every run of a probe ends as one Run, whatever happens inside it: timed, limited, and caught here alone."""

import asyncio
import logging
import math
import time
import traceback
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, replace
from typing import Protocol

from exporter.assignment import ProbeSpec
from probes import Evidence, Finding, ProbeError, Run, Status, Subject
from probes._host import Host

HUNG_AFTER_SECONDS = 1.0

_log = logging.getLogger(__name__)


class HostProbe(Protocol):
    """A probe of this machine."""

    async def run(self, host: Host) -> Iterable[Finding]:
        """Read the machine and judge it."""


@dataclass(frozen=True, slots=True)
class RunContext:
    """What every Run of this process carries: who ran it, from where, under which plan, boot and version."""

    node: str
    vantage: str
    plan_digest: str
    boot_id: str
    program_version: str


@dataclass(frozen=True, slots=True)
class Attempt:
    """The findings of one attempt and its outcome: ``done``, ``timeout`` or ``error``."""

    findings: tuple[Finding, ...]
    outcome: str = "done"


async def observe(
    probe: HostProbe, host: Host, spec: ProbeSpec, context: RunContext, *, clock: Callable[[], float] = time.time
) -> Run:
    """Run the probe once within ``spec.limit_seconds``; a machine that still hangs in the last run is left alone."""
    subject = Subject(node=context.node)
    started = clock()
    if await _hangs(host, min(HUNG_AFTER_SECONDS, spec.limit_seconds)):
        sentence = "the last read still hangs, an end of it wanted"
        attempt = Attempt((_unknown(subject, "previous_run_hung", sentence),), "error")
    else:
        attempt = await attempt_run(lambda: probe.run(host), spec.limit_seconds, subject)
    return run_of(attempt, context.node, spec, context, times=(started, clock()))


def run_of(attempt: Attempt, target: str, spec: ProbeSpec, context: RunContext, *, times: tuple[float, float]) -> Run:
    """Return the Run that an attempt on ``target`` makes; ``times`` are its start and end in Unix seconds."""
    started, finished = times
    return Run(
        probe=spec.probe,
        id=spec.id,
        target=target,
        vantage=context.vantage,
        findings=attempt.findings,
        started=started,
        finished=finished,
        plan_digest=context.plan_digest,
        boot_id=context.boot_id,
        program_version=context.program_version,
        outcome=attempt.outcome,
    )


async def attempt_run(
    action: Callable[[], Awaitable[Iterable[Finding]]], limit_seconds: float, subject: Subject
) -> Attempt:
    """Await ``action`` for at most ``limit_seconds``; what goes wrong becomes one UNKNOWN finding on ``subject``."""
    deadline = asyncio.timeout(limit_seconds)
    try:
        async with deadline:
            return Attempt(tuple(_placed(finding, subject.node) for finding in await action()))
    except TimeoutError as error:
        if deadline.expired():
            sentence = f"no end after {limit_seconds:g} s, an end within them wanted"
            return Attempt((_unknown(subject, "timeout", sentence),), "timeout")
        problem = _unknown(subject, "unreadable", _said(error))
    except ProbeError as error:
        problem = Finding(subject, Status.UNKNOWN, error.reason, error.summary)
    except PermissionError as error:
        problem = _unknown(subject, "permission_denied", _said(error))
    except OSError as error:
        problem = _unknown(subject, "unreadable", _said(error))
    except Exception as error:
        _log.exception("%s: the probe itself failed", subject)
        seen = Evidence("traceback", traceback.format_exc())
        sentence = f"{type(error).__name__}: {error}, findings wanted"
        problem = replace(_unknown(subject, "probe_error", sentence), evidence=(seen,))
    return Attempt((problem,), "error")


async def _hangs(host: Host, limit_seconds: float) -> bool:
    # A read whose caller was cancelled a moment ago ends by itself; only one that stays is a hung one.
    if not host.busy:
        return False
    try:
        async with asyncio.timeout(limit_seconds):
            await host.read(lambda tree: None)
    except TimeoutError:
        return True
    return False


def _placed(finding: Finding, node: str) -> Finding:
    # A number that is none has no place in JSON: one NaN would make the whole ledger unreadable.
    return replace(
        finding,
        subject=replace(finding.subject, node=finding.subject.node or node),
        samples=tuple(one for one in finding.samples if math.isfinite(one.value)),
        measured=tuple(one for one in finding.measured if math.isfinite(one.value)),
    )


def _unknown(subject: Subject, reason: str, sentence: str) -> Finding:
    return Finding(subject, Status.UNKNOWN, reason, f"{subject}: {sentence}")


def _said(error: OSError) -> str:
    place = f"{error.filename}: " if error.filename else ""
    return f"{place}{error.strerror or error or type(error).__name__}, a readable machine wanted"
