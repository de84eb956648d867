"""Path tests run one after the other, as the budget allows: retests first, then what was never tested, then by age.

What a node refuses is asked again later; what waits for an earlier check is not asked at all.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace

from exporter import registry
from exporter.assignment import ProbeSpec
from exporter.clock import Clock
from exporter.fabric.expected import ExpectedPath, PathEnd
from exporter.fabric.last_results import connected_targets, last_results
from exporter.fabric.planned_paths import ends_of, path_modes, unplanned_runs
from exporter.fabric.rounds import (
    Cycle,
    Due,
    Fabric,
    Result,
    blocked_by,
    is_due,
    judged_paths,
    must_pass_again,
    next_cycle,
    next_due,
    sample_to_judge,
    telling,
    without_unready,
)
from exporter.fabric.runs import keep_run, run_path
from exporter.fabric.samples import Samples
from exporter.ledger import Ledger
from exporter.observe import RunContext
from exporter.plan import Plan, Pool
from exporter.settings import KnownMember
from probes._endpoint import Endpoint, Path

LOOK_EVERY_SECONDS = 0.5
REFUSED_AGAIN_SECONDS = 5.0

CYCLE_NUMBER, CYCLE_STARTED = "cycle_number", "cycle_started"

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Situation:
    """What the tester must know now. ``passed`` holds the open checks of each node, ``unready`` why a node waits.

    ``changed`` is when a node last changed (driver, boot ...), in Unix seconds: results before that count as none.
    """

    plan: Plan | None
    members: tuple[KnownMember, ...] = ()
    passed: Mapping[str, frozenset[str]] = field(default_factory=dict)
    unready: Mapping[str, str] = field(default_factory=dict)
    changed: Mapping[str, float] = field(default_factory=dict)
    paused: str = ""


@dataclass(frozen=True, slots=True)
class Job:
    """One test of one pool on one path."""

    pool: Pool
    spec: ProbeSpec
    path: ExpectedPath


@dataclass(frozen=True, slots=True)
class _Waiting:
    """The paths of one test that are due at ``now`` and wait for nothing but free nodes."""

    pool: Pool
    spec: ProbeSpec
    paths: tuple[ExpectedPath, ...]
    results: Mapping[str, Result]
    now: float

    def next(self, fabric: Fabric) -> Due | None:
        every_seconds = self.spec.every_seconds
        return next_due(self.paths, self.results, frozenset(), fabric, now=self.now, every_seconds=every_seconds)


class PathTester:
    """Runs path tests until cancelled. ``endpoint_for`` makes an endpoint for a node's HCA."""

    def __init__(
        self,
        ledger: Ledger,
        context: RunContext,
        *,
        clock: Clock,
        endpoint_for: Callable[[PathEnd], Endpoint],
        situation: Callable[[], Situation],
    ) -> None:
        self.deferrals: Counter[str] = Counter()
        self.cycle = kept_cycle(ledger, clock.now())
        self._ledger = ledger
        self._context = context
        self._clock = clock
        self._endpoint_for = endpoint_for
        self._situation = situation
        self._samples = Samples()
        self._busy: Counter[str] = Counter()
        self._not_before: dict[tuple[str, str], float] = {}
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
                for job in self._jobs():
                    self._busy.update(job.path.nodes)
                    task = tasks.create_task(self._run(job), name=f"{job.spec.id} {job.path.target}")
                    running.add(task)
                    task.add_done_callback(running.discard)
                await self._clock.wait(self._again, LOOK_EVERY_SECONDS)

    def paths_of(self, pool: Pool, spec: ProbeSpec) -> tuple[ExpectedPath, ...]:
        """Return the paths that a verdict on this test needs."""
        situation = self._situation()
        plan = situation.plan
        if plan is None:
            return ()
        ends, results = self._ends(plan, pool, spec, situation), last_results(self._ledger.latest(), spec)
        testable, _ = without_unready(self._samples.of(ends, path_modes(plan), self.cycle.number), situation.unready)
        sample = self._samples.of(ends, path_modes(plan), sample_to_judge(self.cycle, testable, results))
        counting, now = self._counting(plan, spec, situation), self._clock.now()
        return judged_paths(ends, sample, telling(results, counting, now=now, fresh_seconds=spec.fresh_seconds))

    def forget_unplanned(self) -> None:
        """Drop the runs of tests and nodes that the plan does not have any more, so that nothing shows them."""
        situation = self._situation()
        if situation.plan is not None:
            for key in unplanned_runs(situation.plan, situation.members, self._ledger.latest()):
                self._ledger.drop(key)

    def _jobs(self) -> Iterator[Job]:
        situation = self._situation()
        plan = situation.plan
        if situation.paused or plan is None or not plan.budget.tests_enabled or plan.reviewed is None:
            return
        running = sum(self._busy.values()) // 2
        if running >= plan.budget.tests_at_once:
            return
        self._turn_cycle(plan, situation)
        waiting = self._waiting(plan, situation)
        while True:
            fabric = Fabric(frozenset(+self._busy), running, plan.budget.tests_at_once, situation.unready)
            # All tests of all pools share the turns: one that is due ever again must not keep the others waiting.
            turns = [(due, Job(one.pool, one.spec, due.path)) for one in waiting if (due := one.next(fabric))]
            if not turns:
                return
            running += 1
            yield min(turns, key=lambda turn: turn[0])[1]

    def _waiting(self, plan: Plan, situation: Situation) -> list[_Waiting]:
        """All that no start of a test changes is looked up once, for each test of the plan."""
        connected, now = connected_targets(self._ledger.latest()), self._clock.now()
        found = []
        for pool in plan.pools:
            for spec in pool.tests:
                results = self._counting(plan, spec, situation)
                paths = tuple(
                    path
                    for path in self._expected(plan, pool, spec, situation)
                    if is_due(results.get(path.target), now=now, every_seconds=spec.every_seconds)
                    and not self._must_wait(spec, path, situation, connected)
                )
                found.append(_Waiting(pool, spec, paths, results, now))
        return found

    def _ends(self, plan: Plan, pool: Pool, spec: ProbeSpec, situation: Situation) -> tuple[PathEnd, ...]:
        return ends_of(plan, pool, spec, situation.members, self._ledger.latest())

    def _expected(self, plan: Plan, pool: Pool, spec: ProbeSpec, situation: Situation) -> tuple[ExpectedPath, ...]:
        """The paths to test: those of the sample, and faults of earlier ones until they are gone."""
        ends = self._ends(plan, pool, spec, situation)
        sample = self._samples.of(ends, path_modes(plan), self.cycle.number)
        results = last_results(self._ledger.latest(), spec).items()
        faults = frozenset(target for target, result in results if must_pass_again(result))
        return judged_paths(ends, sample, faults) if faults else sample

    def _counting(self, plan: Plan, spec: ProbeSpec, situation: Situation) -> dict[str, Result]:
        """The results under this plan that no change of either end has made stale."""
        changed = situation.changed
        results = last_results(self._ledger.latest(), spec, plan.digest)
        return {
            target: result
            for target, result in results.items()
            if result.received >= max(changed.get(end.partition(":")[0], 0.0) for end in target.split(">"))
        }

    def _must_wait(
        self, spec: ProbeSpec, path: ExpectedPath, situation: Situation, connected: AbstractSet[str]
    ) -> bool:
        if self._not_before.get((spec.id, path.target), 0.0) > self._clock.now():
            return True
        # Connectivity is open by the verdict on both ends, or by each of the path's last runs.
        if all("connectivity" in situation.passed.get(node, ()) for node in path.nodes):
            connected = frozenset({path.target})
        return bool(blocked_by(path, spec.probe.partition(".")[0], situation.passed, connected))

    def _turn_cycle(self, plan: Plan, situation: Situation) -> None:
        tests = [(pool, spec) for pool in plan.pools for spec in pool.tests]
        if not tests:
            return
        expected = [self._expected(plan, pool, spec, situation) for pool, spec in tests]
        testable, _ = without_unready(
            {path.target: path for some in expected for path in some}.values(), situation.unready
        )
        results = [last_results(self._ledger.latest(), spec) for _, spec in tests]
        rarest_seconds = max(spec.every_seconds for _, spec in tests)
        self.cycle = next_cycle(self.cycle, testable, results, now=self._clock.now(), every_seconds=rarest_seconds)
        self._ledger.tokens |= {CYCLE_NUMBER: self.cycle.number, CYCLE_STARTED: self.cycle.started}

    async def _run(self, job: Job) -> None:
        plan = self._situation().plan
        context = replace(self._context, plan_digest=plan.digest if plan else "")
        client, server = self._endpoint_for(job.path.client), self._endpoint_for(job.path.server)
        path = Path(client, server, rail=job.path.client.rail, path_class=job.path.path_class)
        try:
            run = await run_path(registry.build(job.spec), path, job.spec, context, clock=self._clock.now)
            if keep_run(run, job.spec, self._ledger, self.deferrals, pool=job.pool.name) is None:
                self._not_before[job.spec.id, job.path.target] = self._clock.now() + REFUSED_AGAIN_SECONDS
                _log.info("%s %s: put off, %s", job.spec.id, job.path.target, run.findings[0].summary)
            else:
                self._again.set()
        finally:
            self._busy.subtract(job.path.nodes)
            self._busy = +self._busy


def kept_cycle(ledger: Ledger, now: float) -> Cycle:
    """Return the cycle that was under test when the ledger was saved, so that a restart closes nothing."""
    number, started = ledger.tokens.get(CYCLE_NUMBER, 0.0), ledger.tokens.get(CYCLE_STARTED, now)
    return Cycle(int(number), started)
