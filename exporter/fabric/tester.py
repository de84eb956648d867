"""Path tests run one after the other, as the budget allows: retests first, then what was never tested, then by age.

What a node refuses is asked again later; what waits for an earlier check is not asked at all.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from exporter import registry
from exporter.assignment import ProbeSpec
from exporter.clock import Clock
from exporter.fabric.expected import ExpectedPath, PathEnd, expected_paths
from exporter.fabric.planned_paths import ends_of, path_modes
from exporter.fabric.rounds import (
    Cycle,
    Due,
    Fabric,
    Result,
    blocked_by,
    judged_paths,
    next_cycle,
    next_due,
    without_unready,
)
from exporter.fabric.runs import keep_run, run_path
from exporter.ledger import Key, Ledger, Record
from exporter.observe import RunContext
from exporter.plan import Plan, Pool
from exporter.settings import KnownMember
from probes import Status
from probes._endpoint import Endpoint, Path

LOOK_EVERY_SECONDS = 0.5
REFUSED_AGAIN_SECONDS = 5.0
WORST_FIRST = (Status.FAIL, Status.UNKNOWN, Status.PASS)

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
        self.cycle = Cycle(0, clock.now())
        self._ledger = ledger
        self._context = context
        self._clock = clock
        self._endpoint_for = endpoint_for
        self._situation = situation
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
                    for task in running:
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
        if situation.plan is None:
            return ()
        ends = ends_of(situation.plan, pool, spec, situation.members, self._ledger.latest())
        tested = frozenset(_results(self._ledger.latest(), spec))
        return judged_paths(ends, path_modes(situation.plan), self.cycle, tested)

    def _jobs(self) -> Iterator[Job]:
        situation = self._situation()
        plan = situation.plan
        if situation.paused or plan is None or not plan.budget.tests_enabled or plan.reviewed is None:
            return
        self._turn_cycle(plan, situation)
        running = sum(self._busy.values()) // 2
        while True:
            fabric = Fabric(frozenset(+self._busy), running, plan.budget.tests_at_once, situation.unready)
            # All tests of all pools share the turns: one that is due ever again must not keep the others waiting.
            turns = [
                (due, Job(pool, spec, due.path))
                for pool in plan.pools
                for spec in pool.tests
                if (due := self._next(plan, pool, spec, situation, fabric))
            ]
            if not turns:
                return
            running += 1
            yield min(turns, key=lambda turn: turn[0])[1]

    def _next(self, plan: Plan, pool: Pool, spec: ProbeSpec, situation: Situation, fabric: Fabric) -> Due | None:
        if fabric.running >= fabric.tests_at_once:
            return None
        expected = self._expected(plan, pool, spec, situation)
        waiting = frozenset(path.target for path in expected if self._must_wait(spec, path, situation))
        results = self._counting(plan, spec, situation)
        now, every_seconds = self._clock.now(), spec.every_seconds
        return next_due(expected, results, waiting, fabric, now=now, every_seconds=every_seconds)

    def _expected(self, plan: Plan, pool: Pool, spec: ProbeSpec, situation: Situation) -> tuple[ExpectedPath, ...]:
        ends = ends_of(plan, pool, spec, situation.members, self._ledger.latest())
        return expected_paths(ends, path_modes(plan), self.cycle.number)

    def _counting(self, plan: Plan, spec: ProbeSpec, situation: Situation) -> dict[str, Result]:
        """The results under this plan that no change of either end has made stale."""
        changed = situation.changed
        results = _results(self._ledger.latest(), spec, plan.digest)
        return {
            target: result
            for target, result in results.items()
            if result.received >= max(changed.get(end.partition(":")[0], 0.0) for end in target.split(">"))
        }

    def _must_wait(self, spec: ProbeSpec, path: ExpectedPath, situation: Situation) -> bool:
        if self._not_before.get((spec.id, path.target), 0.0) > self._clock.now():
            return True
        check = spec.probe.partition(".")[0]
        return bool(blocked_by(path, check, situation.passed, self._connected(path, situation)))

    def _connected(self, path: ExpectedPath, situation: Situation) -> frozenset[str]:
        """The path itself when its connectivity is open: by the verdict on both ends, or by each of its last runs."""
        if all("connectivity" in situation.passed.get(node, ()) for node in path.nodes):
            return frozenset({path.target})
        runs = [
            record
            for (probe, _, target), record in self._ledger.latest().items()
            if target == path.target and probe.startswith("connectivity.")
        ]
        passed = bool(runs) and all(_result(record).status is Status.PASS for record in runs)
        return frozenset({path.target} if passed else ())

    def _turn_cycle(self, plan: Plan, situation: Situation) -> None:
        tests = [(pool, spec) for pool in plan.pools for spec in pool.tests]
        if not tests:
            return
        expected = [self._expected(plan, pool, spec, situation) for pool, spec in tests]
        testable, _ = without_unready(
            {path.target: path for some in expected for path in some}.values(), situation.unready
        )
        results = [_results(self._ledger.latest(), spec) for _, spec in tests]
        rarest_seconds = max(spec.every_seconds for _, spec in tests)
        self.cycle = next_cycle(self.cycle, testable, results, now=self._clock.now(), every_seconds=rarest_seconds)

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
        finally:
            self._busy.subtract(job.path.nodes)
            self._busy = +self._busy
            self._again.set()


def _results(records: Mapping[Key, Record], spec: ProbeSpec, plan_digest: str = "") -> dict[str, Result]:
    """The last results of one test by path; with a digest, those of another plan count as none."""
    return {
        target: _result(record)
        for (probe, run_id, target), record in records.items()
        if (probe, run_id) == (spec.probe, spec.id) and plan_digest in ("", record.run.plan_digest)
    }


def _result(record: Record) -> Result:
    findings = sorted(record.run.findings, key=lambda finding: WORST_FIRST.index(finding.status))
    if not findings:
        return Result(record.received, Status.UNKNOWN)
    return Result(record.received, findings[0].status, findings[0].reason)
