"""What one moment's plan, members and results say about paths: which are expected, which count, whose turn it is.

Everything here is pure over what it was given, so that it may be worked out in a thread while the event loop goes on.
"""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from functools import cached_property

from exporter.assignment import ProbeSpec
from exporter.fabric.expected import ExpectedPath, PathEnd
from exporter.fabric.last_results import TestResults, connected_targets
from exporter.fabric.planned_paths import ends_of, path_modes
from exporter.fabric.recoveries import worth_another_look
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
from exporter.fabric.samples import Samples
from exporter.fabric.witnesses import witnesses
from exporter.ledger import Key, Record
from exporter.plan import Plan, Pool
from exporter.plan.digest_of_test import digest_of_test
from exporter.settings import KnownMember
from probes import Status


@dataclass(frozen=True)
class Situation:
    """What the tester must know now. ``passed`` holds the open checks of each node, ``unready`` why a node waits.

    ``changed`` is when a node last changed (driver, boot ...), in Unix seconds: results before that count as none.
    ``ruled_out`` are nodes with the probe that does not apply to them, by decision. ``recovered`` is when a node last
    came to be able to take part, in Unix seconds.
    """

    plan: Plan | None
    members: tuple[KnownMember, ...] = ()
    passed: Mapping[str, frozenset[str]] = field(default_factory=dict)
    unready: Mapping[str, str] = field(default_factory=dict)
    changed: Mapping[str, float] = field(default_factory=dict)
    paused: str = ""
    ruled_out: frozenset[tuple[str, str]] = frozenset()
    recovered: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Waiting:
    """The paths of one test that are due at ``now`` and wait for nothing but free nodes."""

    pool: Pool
    spec: ProbeSpec
    paths: tuple[ExpectedPath, ...]
    results: Mapping[str, Result]
    now: float

    def next(self, fabric: Fabric) -> Due | None:
        """Return whose turn it is on these nodes."""
        every_seconds = self.spec.every_seconds
        return next_due(self.paths, self.results, frozenset(), fabric, now=self.now, every_seconds=every_seconds)

    def renews(self, path: ExpectedPath) -> bool:
        """Whether the last result passes, and is tested again only since it grows old."""
        result = self.results.get(path.target)
        return result is not None and result.status is Status.PASS

    def without(self, ended: AbstractSet[tuple[str, str]]) -> "Waiting":
        """Return the same less the tests of these ids and targets."""
        return replace(self, paths=tuple(path for path in self.paths if (self.spec.id, path.target) not in ended))


@dataclass(frozen=True)
class Outlook:
    """One moment. ``results`` are those of ``records`` by test, ``now`` is Unix seconds, ``samples`` may be kept."""

    plan: Plan
    situation: Situation
    records: Mapping[Key, Record]
    results: Mapping[tuple[str, str], TestResults]
    cycle: Cycle
    now: float
    samples: Samples

    def paths_of(self, pool: Pool, spec: ProbeSpec) -> tuple[ExpectedPath, ...]:
        """Return the paths that a verdict on this test needs."""
        ends, results = self._ends(pool, spec), self._last(spec)
        testable, _ = without_unready(self._sample(ends, self.cycle.number), self.situation.unready)
        sample = self._sample(ends, sample_to_judge(self.cycle, testable, results))
        counting = self._counting(pool, spec)
        return judged_paths(ends, sample, telling(results, counting, now=self.now, fresh_seconds=spec.fresh_seconds))

    def next_cycle(self) -> Cycle:
        """Return the cycle that is under test from now on."""
        tests = [(pool, spec) for pool in self.plan.pools for spec in pool.tests]
        if not tests:
            return self.cycle
        expected = {path.target: path for pool, spec in tests for path in self._expected(pool, spec)}
        testable, _ = without_unready(expected.values(), self.situation.unready)
        results = [self._last(spec) for _, spec in tests]
        rarest_seconds = max(spec.every_seconds for _, spec in tests)
        return next_cycle(self.cycle, testable, results, now=self.now, every_seconds=rarest_seconds)

    def waiting(self, not_before: AbstractSet[tuple[str, str]]) -> list[Waiting]:
        """Return, for each test of the plan, what is due and waits for nothing but free nodes.

        ``not_before`` are the ids and targets that were put off for a while.
        """
        found = []
        for pool in self.plan.pools:
            for spec in pool.tests:
                put_off = {target for name, target in not_before if name == spec.id}
                paths = [path for path in self._expected(pool, spec) if path.target not in put_off]
                found.append(self._waiting(pool, spec, paths))
        return found

    def _waiting(self, pool: Pool, spec: ProbeSpec, paths: Sequence[ExpectedPath]) -> Waiting:
        results = self._counting(pool, spec)
        if early := self._early(spec, paths, results):
            # What is tested out of turn stands as if it never had been.
            results = {target: result for target, result in results.items() if target not in early}
        due = (
            path for path in paths if is_due(results.get(path.target), now=self.now, every_seconds=spec.every_seconds)
        )
        return Waiting(pool, spec, tuple(path for path in due if not self._must_wait(spec, path)), results, self.now)

    def _early(self, spec: ProbeSpec, paths: Sequence[ExpectedPath], results: Mapping[str, Result]) -> AbstractSet[str]:
        again = worth_another_look(results, self.situation.recovered)
        if not any(result.status is Status.FAIL for result in results.values()):
            return again
        unready = self.situation.unready.keys()
        able = (one for one in paths if not one.nodes & unready and not self._must_wait(spec, one))
        return again | witnesses(able, results)

    @cached_property
    def _connected(self) -> frozenset[str]:
        return connected_targets(self.results)

    def _sample(self, ends: tuple[PathEnd, ...], cycle: int) -> tuple[ExpectedPath, ...]:
        return self.samples.of(ends, path_modes(self.plan), cycle)

    def _ends(self, pool: Pool, spec: ProbeSpec) -> tuple[PathEnd, ...]:
        return ends_of(self.plan, pool, spec, self.situation.members, self.records)

    def _last(self, spec: ProbeSpec) -> dict[str, Result]:
        return {target: result for target, (result, _) in self.results.get((spec.probe, spec.id), {}).items()}

    def _expected(self, pool: Pool, spec: ProbeSpec) -> Sequence[ExpectedPath]:
        """The paths to test: those of the sample, and faults of earlier ones until they are gone."""
        ends = self._ends(pool, spec)
        sample = self._sample(ends, self.cycle.number)
        faults = frozenset(target for target, result in self._last(spec).items() if must_pass_again(result))
        return judged_paths(ends, sample, faults) if faults else sample

    def _counting(self, pool: Pool, spec: ProbeSpec) -> dict[str, Result]:
        """The results of this test as it is planned that no change of either end has made stale."""
        changed, digest, planned_as = self.situation.changed, self.plan.digest, digest_of_test(pool, spec)
        return {
            target: result
            for target, (result, record) in self.results.get((spec.probe, spec.id), {}).items()
            if not digest or record.is_as_planned(digest, planned_as)
            if result.received >= max(changed.get(end.partition(":")[0], 0.0) for end in target.split(">"))
        }

    def _must_wait(self, spec: ProbeSpec, path: ExpectedPath) -> bool:
        # Connectivity is open by the verdict on both ends, or by each of the path's last runs.
        passed, connected = self.situation.passed, self._connected
        if all("connectivity" in passed.get(node, ()) for node in path.nodes):
            connected = frozenset({path.target})
        return bool(blocked_by(path, spec.probe.partition(".")[0], passed, connected))
