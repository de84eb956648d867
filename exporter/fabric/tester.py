"""Tests run one after the other, as the budget allows: retests first, then what was never tested, then by age.

What a node refuses is asked again later; what waits for an earlier check is not asked at all.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace

from exporter.clock import Clock
from exporter.fabric.busy import Busy
from exporter.fabric.group_outlook import GroupOutlook
from exporter.fabric.held import Wanted, held
from exporter.fabric.jobs import GroupJob, Job, Reach, Work
from exporter.fabric.last_results import ResultsByTest
from exporter.fabric.outlook import Outlook, Situation
from exporter.fabric.planned_paths import unplanned_runs
from exporter.fabric.recoveries import Recoveries
from exporter.fabric.rounds import Cycle, Fabric
from exporter.fabric.runs import broken_off, keep_run
from exporter.fabric.samples import Samples
from exporter.fabric.turns import Turns
from exporter.gate.group_results import is_of_group
from exporter.ledger import Ledger
from exporter.observe import RunContext

LOOK_EVERY_SECONDS = 0.5
REFUSED_AGAIN_SECONDS = 5.0

CYCLE_NUMBER, CYCLE_STARTED = "cycle_number", "cycle_started"

_log = logging.getLogger(__name__)


class Tester:
    """Runs the tests of paths and groups until cancelled, through what ``reach`` reaches."""

    __test__ = False

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
        # Nodes without test pod, each with those whose pods wait for one there.
        self.lacking: Mapping[str, AbstractSet[str]] = {}
        # Whether a test pod could be had does not hang on what such pods tell.
        self.visible = Recoveries({"visibility"})
        # One thread at a time works things out: the event loop has to share the interpreter with it.
        self.thinking = asyncio.Lock()
        self._ledger = ledger
        self._context = context
        self._clock = clock
        self._reach = reach
        self._situation = situation
        self._results, self._samples = ResultsByTest(), Samples()
        self._recoveries = Recoveries()
        self._busy = Busy()
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
                    self._busy.take(job.nodes)
                    task = tasks.create_task(self._run(job), name=f"{job.spec.id} {job.target}")
                    running.add(task)
                    task.add_done_callback(running.discard)
                await self._clock.wait(self._again, LOOK_EVERY_SECONDS)

    def outlook(self, results: ResultsByTest, samples: Samples) -> Callable[[], Outlook] | None:
        """Return what makes this moment's outlook, in any thread; None without a plan.

        ``results`` and ``samples`` keep what was worked out before, and are the caller's alone.
        """
        situation = replace(self._situation(), recovered=self._recoveries.at)
        if situation.plan is None:
            return None
        plan, cycle, now = situation.plan, self.cycle, self._clock.now()
        records = dict(self._ledger.latest())
        return lambda: Outlook(plan, situation, records, results.of(records), cycle, now, samples)

    def group_outlook(self) -> Callable[[], GroupOutlook] | None:
        """Return what makes this moment's outlook on groups, in any thread; None without a plan."""
        situation, now = self._situation(), self._clock.now()
        if (plan := situation.plan) is None:
            return None
        records = {key: record for key, record in self._ledger.latest().items() if is_of_group(key[2])}
        return lambda: GroupOutlook(plan, situation, records, now)

    def forget_unplanned(self) -> None:
        """Drop the runs of tests and nodes that the plan does not have any more, so that nothing shows them."""
        situation = self._situation()
        if situation.plan is not None:
            for key in unplanned_runs(situation.plan, situation.members, self._ledger.latest()):
                self._ledger.drop(key)
        self._forget_superseded()

    def _forget_superseded(self) -> None:
        """Drop the runs of groups that newer ones have taken the place of."""
        if make := self.group_outlook():
            for key in tuple(make().superseded()):
                self._ledger.drop(key)

    async def _look(self) -> Turns:
        """See what is due, in a thread; nothing where nothing may be tested at all, or where the plan changed."""
        plan, self._ended = self._situation().plan, set()
        for one in (self._recoveries, self.visible):
            one.follow(self._situation().passed, self._clock.now())
        make, of_groups = self.outlook(self._results, self._samples), self.group_outlook()
        if make is None or of_groups is None or not self._may_test():
            return Turns()
        now = self._clock.monotonic()
        self._not_before = {name: until for name, until in self._not_before.items() if until > now}
        async with self.thinking:
            self.cycle, turns = await asyncio.to_thread(_turned, make, of_groups, frozenset(self._not_before))
        self._ledger.tokens |= {CYCLE_NUMBER: self.cycle.number, CYCLE_STARTED: self.cycle.started}
        # What has ended meanwhile stands there as it was before.
        return turns.without(self._ended) if self._situation().plan is plan else Turns()

    def _may_test(self) -> bool:
        situation = self._situation()
        plan = situation.plan
        if situation.paused or plan is None or not plan.budget.tests_enabled or plan.reviewed is None:
            return False
        return self._busy.running < plan.budget.tests_at_once

    def _jobs(self, turns: Turns) -> Iterator[Job]:
        situation = self._situation()
        # Where test pods are the ends, a path is due for hours in which there is none.
        absent = {one.name: why for one in situation.members if (why := self._reach.absent(one.name))}
        unready = {**absent, **situation.unready}
        self.lacking = turns.lacking(absent.keys(), situation.unready.keys())
        while self._may_test() and situation.plan is not None:
            at_once = situation.plan.budget.tests_at_once
            # All tests of all pools share the turns: one that is due ever again must not keep the others waiting.
            job = turns.next(Fabric(self._busy.nodes, self._busy.running, at_once, unready))
            if job is None:
                return
            yield job

    async def _run(self, job: Job) -> None:
        plan = self._situation().plan
        context = replace(self._context, plan_digest=plan.digest if plan else "")
        wanted = self._wanted(job)
        try:
            work = Work(self._reach, context, self._clock.now)
            ends = {node: self._reach.end(node) for node in job.nodes}
            run = await job.run(work, held(wanted), wanted.id)
            if gone := [node for node, end in ends.items() if self._reach.end(node) != end]:
                run = broken_off(run, gone)
            if keep_run(run, job.spec, self._ledger, self.deferrals, pool=job.pool) is None:
                self._not_before[job.spec.id, job.target] = self._clock.monotonic() + REFUSED_AGAIN_SECONDS
                _log.info("%s %s: put off, %s", job.spec.id, job.target, run.findings[0].summary)
            else:
                self._again.set()
            if isinstance(job, GroupJob):
                self._forget_superseded()
        finally:
            self._ended.add((job.spec.id, job.target))
            self._busy.give_back(job.nodes)

    def _wanted(self, job: Job) -> Wanted:
        claim, name = self._reach.claim, f"{job.spec.id} {job.target}"
        return Wanted(
            tuple(self._reach.slots(node) for node in job.nodes),
            claim,
            f"gate {claim.gate} for {name}",
            job.spec.limit_seconds,
            waiting=lambda held_by: _log.debug("%s: waits, %s", name, held_by),
        )


def _turned(
    make: Callable[[], Outlook], of_groups: Callable[[], GroupOutlook], not_before: frozenset[tuple[str, str]]
) -> tuple[Cycle, Turns]:
    outlook = make()
    cycle = outlook.next_cycle()
    return cycle, Turns(replace(outlook, cycle=cycle).waiting(not_before), of_groups().waiting(not_before))


def kept_cycle(ledger: Ledger, now: float) -> Cycle:
    """Return the cycle that was under test when the ledger was saved, so that a restart closes nothing."""
    number, started = ledger.tokens.get(CYCLE_NUMBER, 0.0), ledger.tokens.get(CYCLE_STARTED, now)
    return Cycle(int(number), started)
