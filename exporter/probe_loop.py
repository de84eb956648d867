"""One probe runs again and again: when it is due, and at once when a glance or an event says that something moved."""

import asyncio
import hashlib
import logging
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

import msgspec

from exporter.assignment import ProbeSpec
from exporter.clock import Clock
from exporter.ledger import Ledger, Record
from exporter.observe import HostProbe, RunContext, observe
from exporter.registry import ProbeModule
from probes import Finding, ProbeError, Run
from probes._host import Host

GLANCE_EVERY_SECONDS = 1.0
GLANCE_LIMIT_SECONDS = 5.0
SETTLE_SECONDS = 0.05
EVENT_GAP_SECONDS = 1.0
SPREAD_SECONDS = 5.0
EVERY_AT_LEAST_SECONDS = 1.0

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Unrunnable:
    """Stands in for a probe that this program does not have or whose settings do not fit; every run says so."""

    reason: str
    summary: str

    async def run(self, host: Host) -> tuple[Finding, ...]:
        """Raise what made the planned probe unrunnable."""
        raise ProbeError(self.reason, self.summary)


def build_probe(spec: ProbeSpec, module: ProbeModule | None) -> Any:
    """Return the probe with its settings, or an ``Unrunnable`` that says what does not fit."""
    if module is None:
        return Unrunnable("unknown_probe", f"{spec.probe}: not a probe of this program, one of its list wanted")
    try:
        return msgspec.convert(spec.settings, module.probe, strict=True)
    except msgspec.ValidationError as error:
        return Unrunnable("wrong_settings", f"{spec.probe}: {error}, settings of this probe wanted")


@dataclass(frozen=True)
class LoopPlan:
    """What one loop does, complete: two equal plans need no restart."""

    spec: ProbeSpec
    context: RunContext
    pool: str


@dataclass
class ProbeLoop:
    """The loop of one probe. ``wake`` asks for a run at once; ``host`` outlives the loop, since it may hang.

    ``triggers`` are the kinds of netlink event that wake it.
    """

    plan: LoopPlan
    probe: HostProbe
    host: Host
    ledger: Ledger
    clock: Clock
    triggers: frozenset[str] = frozenset()
    wake: asyncio.Event = field(default_factory=asyncio.Event)

    async def run_forever(self) -> None:
        """Run when due and when woken, until cancelled."""
        await self._pause(self._first_delay_seconds())
        while True:
            self.wake.clear()
            started = self.clock.monotonic()
            seen = await self._glance()
            self._put(await observe(self.probe, self.host, self.plan.spec, self.plan.context, clock=self.clock.now))
            if await self._moved(seen):
                await self._pause(self._settle_seconds(started))

    async def _moved(self, seen: Hashable) -> bool:
        """Wait until the next run is due (False), or until an event or another glance calls for one (True)."""
        due = self.clock.monotonic() + max(EVERY_AT_LEAST_SECONDS, self.plan.spec.every_seconds)
        while (left_seconds := due - self.clock.monotonic()) > 0:
            glances = hasattr(self.probe, "glance")
            await self.clock.wait(self.wake, min(left_seconds, GLANCE_EVERY_SECONDS) if glances else left_seconds)
            if self.wake.is_set() or await self._glance() != seen:
                return True
        return False

    async def _glance(self) -> Hashable:
        glance = getattr(self.probe, "glance", None)
        if glance is None:
            return None
        if self.host.busy:
            return "busy"
        try:
            async with asyncio.timeout(GLANCE_LIMIT_SECONDS):
                return await self.host.read(glance)
        except OSError as error:
            return f"unreadable: {error.errno}"

    async def _pause(self, seconds: float) -> None:
        await self.clock.wait(asyncio.Event(), seconds)

    def _put(self, run: Run) -> None:
        spec = self.plan.spec
        self.ledger.put(run, targets=spec.targets, fresh_seconds=spec.fresh_seconds, pool=self.plan.pool)

    def _settle_seconds(self, started: float) -> float:
        # Events come in bursts, and busy nodes make them all day: at most one run a second is owed to them.
        return max(SETTLE_SECONDS, started + EVENT_GAP_SECONDS - self.clock.monotonic())

    def _first_delay_seconds(self) -> float:
        spec, context = self.plan.spec, self.plan.context
        share = _share(f"{context.node}\t{spec.probe}\t{spec.id}")
        spread_seconds = share * min(SPREAD_SECONDS, spec.every_seconds / 10)
        record = self.ledger.get((spec.probe, spec.id, context.node))
        if record is None or not _still_valid(record, context, self.clock.now()):
            return spread_seconds
        return max(spread_seconds, record.received + spec.every_seconds - self.clock.now())


def _still_valid(record: Record, context: RunContext, now: float) -> bool:
    run = record.run
    same = (run.plan_digest, run.boot_id, run.program_version, run.vantage)
    wanted = (context.plan_digest, context.boot_id, context.program_version, context.vantage)
    return same == wanted and record.received <= now


def _share(text: str) -> float:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") / 2**32
