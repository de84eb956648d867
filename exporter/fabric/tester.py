"""Path tests run one after the other, as the budget allows: retests first, then what was never tested, then by age.

What a node refuses is asked again later; what waits for an earlier check is not asked at all.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from exporter import registry
from exporter.assignment import Claim, ProbeSpec
from exporter.clock import Clock
from exporter.fabric.expected import ExpectedPath, PathEnd
from exporter.fabric.held import NodeSlots, Wanted, held
from exporter.fabric.last_results import ResultsByTest
from exporter.fabric.outlook import Outlook, Situation, Waiting
from exporter.fabric.planned_paths import unplanned_runs
from exporter.fabric.rounds import Cycle, Fabric
from exporter.fabric.runs import keep_run, run_path
from exporter.fabric.samples import Samples
from exporter.ledger import Ledger
from exporter.observe import RunContext
from exporter.plan import Pool
from probes._endpoint import Endpoint, Path

LOOK_EVERY_SECONDS = 0.5
REFUSED_AGAIN_SECONDS = 5.0

CYCLE_NUMBER, CYCLE_STARTED = "cycle_number", "cycle_started"

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Job:
    """One test of one pool on one path."""

    pool: Pool
    spec: ProbeSpec
    path: ExpectedPath


class Reach(Protocol):
    """How the tester reaches the nodes, and in whose name."""

    @property
    def claim(self) -> Claim:
        """The gate and its term as leader, as they are now."""

    def slots(self, node: str) -> NodeSlots:
        """Return the slots of a node."""

    def endpoint(self, end: PathEnd, lease: str) -> Endpoint:
        """Return an endpoint for a node's HCA, for tests in that lease's slot."""


class PathTester:
    """Runs path tests until cancelled, through what ``reach`` reaches."""

    def __init__(
        self,
        ledger: Ledger,
        context: RunContext,
        *,
        clock: Clock,
        reach: Reach,
        situation: Callable[[], Situation],
    ) -> None:
        self.deferrals: Counter[str] = Counter()
        self.cycle = kept_cycle(ledger, clock.now())
        # One thread at a time works things out: the event loop has to share the interpreter with it.
        self.thinking = asyncio.Lock()
        self._ledger = ledger
        self._context = context
        self._clock = clock
        self._reach = reach
        self._situation = situation
        self._results, self._samples = ResultsByTest(), Samples()
        self._busy: Counter[str] = Counter()
        self._not_before: dict[tuple[str, str], float] = {}
        self._ended: set[tuple[str, str]] = set()
        self._again = asyncio.Event()

    async def run(self) -> None:
        """Test until cancelled."""
        running: set[asyncio.Task[None]] = set()
        async with asyncio.TaskGroup() as tasks:
            while True:
                self._again.clear()
                if self._situation().paused:
                    # Once each: a second one would break off the stopping of the tools.
                    for task in running:
                        if not task.cancelling():
                            task.cancel()
                for job in self._jobs(await self._look()):
                    self._busy.update(job.path.nodes)
                    task = tasks.create_task(self._run(job), name=f"{job.spec.id} {job.path.target}")
                    running.add(task)
                    task.add_done_callback(running.discard)
                await self._clock.wait(self._again, LOOK_EVERY_SECONDS)

    def outlook(self, results: ResultsByTest, samples: Samples) -> Callable[[], Outlook] | None:
        """Return what makes this moment's outlook, in any thread; None without a plan.

        ``results`` and ``samples`` keep what was worked out before, and are the caller's alone.
        """
        situation = self._situation()
        if situation.plan is None:
            return None
        plan, cycle, now = situation.plan, self.cycle, self._clock.now()
        records = dict(self._ledger.latest())
        return lambda: Outlook(plan, situation, records, results.of(records), cycle, now, samples)

    def forget_unplanned(self) -> None:
        """Drop the runs of tests and nodes that the plan does not have any more, so that nothing shows them."""
        situation = self._situation()
        if situation.plan is not None:
            for key in unplanned_runs(situation.plan, situation.members, self._ledger.latest()):
                self._ledger.drop(key)

    async def _look(self) -> Sequence[Waiting]:
        """See what is due, in a thread; nothing where nothing may be tested at all, or where the plan changed."""
        plan, self._ended = self._situation().plan, set()
        make = self.outlook(self._results, self._samples) if self._may_test() else None
        if make is None:
            return []
        now = self._clock.monotonic()
        self._not_before = {name: until for name, until in self._not_before.items() if until > now}
        async with self.thinking:
            self.cycle, waiting = await asyncio.to_thread(_turned, make, frozenset(self._not_before))
        self._ledger.tokens |= {CYCLE_NUMBER: self.cycle.number, CYCLE_STARTED: self.cycle.started}
        # What has ended meanwhile stands there as it was before.
        return [one.without(self._ended) for one in waiting] if self._situation().plan is plan else ()

    def _may_test(self) -> bool:
        situation = self._situation()
        plan = situation.plan
        if situation.paused or plan is None or not plan.budget.tests_enabled or plan.reviewed is None:
            return False
        return self._running < plan.budget.tests_at_once

    def _jobs(self, waiting: Sequence[Waiting]) -> Iterator[Job]:
        situation = self._situation()
        while self._may_test() and situation.plan is not None:
            at_once = situation.plan.budget.tests_at_once
            fabric = Fabric(frozenset(+self._busy), self._running, at_once, situation.unready)
            # All tests of all pools share the turns: one that is due ever again must not keep the others waiting.
            turns = [(due, Job(one.pool, one.spec, due.path)) for one in waiting if (due := one.next(fabric))]
            if not turns:
                return
            yield min(turns, key=lambda turn: turn[0])[1]

    @property
    def _running(self) -> int:
        return sum(self._busy.values()) // 2

    async def _run(self, job: Job) -> None:
        plan = self._situation().plan
        context = replace(self._context, plan_digest=plan.digest if plan else "")
        wanted = self._wanted(job)
        client, server = (self._reach.endpoint(end, wanted.id) for end in (job.path.client, job.path.server))
        path = Path(client, server, rail=job.path.client.rail, path_class=job.path.path_class)
        probe, now = registry.build(job.spec), self._clock.now
        try:
            run = await run_path(probe, path, job.spec, context, clock=now, slots=held(wanted))
            if keep_run(run, job.spec, self._ledger, self.deferrals, pool=job.pool.name) is None:
                self._not_before[job.spec.id, job.path.target] = self._clock.monotonic() + REFUSED_AGAIN_SECONDS
                _log.info("%s %s: put off, %s", job.spec.id, job.path.target, run.findings[0].summary)
            else:
                self._again.set()
        finally:
            self._ended.add((job.spec.id, job.path.target))
            self._busy.subtract(job.path.nodes)
            self._busy = +self._busy

    def _wanted(self, job: Job) -> Wanted:
        claim, name = self._reach.claim, f"{job.spec.id} {job.path.target}"
        return Wanted(
            tuple(self._reach.slots(node) for node in job.path.nodes),
            claim,
            f"gate {claim.gate} for {name}",
            job.spec.limit_seconds,
            waiting=lambda held_by: _log.debug("%s: waits, %s", name, held_by),
        )


def _turned(make: Callable[[], Outlook], not_before: frozenset[tuple[str, str]]) -> tuple[Cycle, list[Waiting]]:
    outlook = make()
    cycle = outlook.next_cycle()
    return cycle, replace(outlook, cycle=cycle).waiting(not_before)


def kept_cycle(ledger: Ledger, now: float) -> Cycle:
    """Return the cycle that was under test when the ledger was saved, so that a restart closes nothing."""
    number, started = ledger.tokens.get(CYCLE_NUMBER, 0.0), ledger.tokens.get(CYCLE_STARTED, now)
    return Cycle(int(number), started)
