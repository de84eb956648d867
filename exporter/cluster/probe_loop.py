"""Probes of the cluster run when they are due, and within seconds when the API's facts have changed.

Judging a thousand nodes takes a while, so it is done in a thread of its own; one that hangs is not started again.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from exporter.assignment import ProbeSpec
from exporter.clock import Clock
from exporter.cluster.facts import ClusterFacts
from exporter.cluster.node_readings import NodeReadings
from exporter.cluster.pod_allocations import PodAllocations
from exporter.cluster.probe_runs import runs_by_node
from exporter.ledger import Ledger
from exporter.observe import Attempt, RunContext, attempt_run
from exporter.probe_loop import build_probe
from exporter.registry import ProbeModule
from probes import Finding, ProbeError, Subject
from probes._cluster import Cluster
from probes._worker import Worker

CHANGE_GAP_SECONDS = 3.0
FIRST_WAIT_SECONDS = 20.0
IDLE_SECONDS = 5.0
RUNS_AT_ONCE = 20
VANTAGE = "api"


@dataclass(frozen=True)
class PlannedProbe:
    """A probe of a pool, and the names of the pool's nodes, which it judges. ``pod_digest`` is its test pods'."""

    pool: str
    spec: ProbeSpec
    nodes: tuple[str, ...]
    plan_digest: str
    pod_digest: str = ""


class ClusterProbes:
    """Runs what ``planned`` returns now. ``context`` is that of the gate's runs."""

    def __init__(
        self,
        facts: ClusterFacts,
        ledger: Ledger,
        context: RunContext,
        modules: Mapping[str, ProbeModule],
        planned: Callable[[], Iterable[PlannedProbe]],
        clock: Clock,
    ) -> None:
        self._facts = facts
        self._ledger = ledger
        self._context = context
        self._modules = modules
        self._planned = planned
        self._clock = clock
        self._workers: dict[tuple[str, str], Worker] = {}
        self._ran: dict[tuple[str, str], tuple[PlannedProbe, float]] = {}
        self._found: dict[tuple[str, str], tuple[Finding, ...]] = {}
        self._moved = asyncio.Event()
        self._changed = False
        self._readings = NodeReadings(ledger, self._facts_changed)
        self._allocations = PodAllocations(ledger, self._facts_changed)
        facts.listen(self._facts_changed)

    async def run(self) -> None:
        """Run until cancelled."""
        await self._facts.settled(FIRST_WAIT_SECONDS)
        while True:
            self._moved.clear()
            changed, self._changed = self._changed, False
            started = self._clock.monotonic()
            planned = tuple(self._planned())
            for one in planned:
                is_due = self._is_due(one, started)
                if changed or is_due:
                    await self._observe(one, is_due=is_due)
            self._drop_unplanned(planned)
            await self._pause(planned, started)

    def wake(self) -> None:
        """Look at once whether something else is planned."""
        self._moved.set()

    def _facts_changed(self) -> None:
        self._changed = True
        self._moved.set()

    def _is_due(self, one: PlannedProbe, now: float) -> bool:
        before, at = self._ran.get(_key(one), (None, 0.0))
        return before != one or now - at >= one.spec.every_seconds

    async def _pause(self, planned: Iterable[PlannedProbe], started: float) -> None:
        """Wait until the next is due, or until something moved; changes come in bursts, and are judged together."""
        now = self._clock.monotonic()
        due = (self._ran[_key(one)][1] + one.spec.every_seconds - now for one in planned)
        await self._clock.wait(self._moved, max(0.0, min(due, default=IDLE_SECONDS)))
        settle_seconds = started + CHANGE_GAP_SECONDS - self._clock.monotonic()
        if settle_seconds > 0:
            await self._clock.wait(asyncio.Event(), settle_seconds)

    async def _observe(self, one: PlannedProbe, *, is_due: bool) -> None:
        cluster = replace(
            self._facts.snapshot(one.nodes),
            readings=self._readings.of(one.nodes),
            allocations=self._allocations.of(one.nodes, (one.plan_digest, one.pod_digest)),
        )
        if is_due:
            self._ran[_key(one)] = (one, self._clock.monotonic())
        started = self._clock.now()
        attempt = await self._attempt(one, cluster)
        context = RunContext(self._context.node, VANTAGE, one.plan_digest, "", self._context.program_version)
        runs = runs_by_node(attempt, cluster, one.spec, context, times=(started, self._clock.now()))
        for number, run in enumerate(runs):
            if number % RUNS_AT_ONCE == 0:
                await asyncio.sleep(0)
            # In a large cluster something changes all the time, and for most nodes nothing does.
            if is_due or self._found.get((one.spec.id, run.target)) != run.findings:
                self._found[one.spec.id, run.target] = run.findings
                self._ledger.put(run, targets=one.spec.targets, fresh_seconds=one.spec.fresh_seconds, pool=one.pool)

    async def _attempt(self, one: PlannedProbe, cluster: Cluster) -> Attempt:
        probe = build_probe(one.spec, self._modules.get(one.spec.probe))
        worker = self._workers.setdefault(_key(one), Worker(f"probe {one.spec.id}"))

        async def judge() -> Iterable[Finding]:
            if worker.busy:
                raise ProbeError("previous_run_hung", f"{one.spec.id}: the last run still goes on, an end of it wanted")
            return await worker.call(lambda: _judge(probe, cluster))

        return await attempt_run(judge, one.spec.limit_seconds, Subject())

    def _drop_unplanned(self, planned: Iterable[PlannedProbe]) -> None:
        kept = {(one.spec.probe, one.spec.id, node) for one in planned for node in one.nodes}
        for key in list(self._ledger.latest()):
            module = self._modules.get(key[0])
            if module is not None and module.kind == "cluster" and key not in kept:
                self._ledger.drop(key)
                self._found.pop((key[1], key[2]), None)


def _judge(probe: Any, cluster: Cluster) -> tuple[Finding, ...]:
    """Run a probe to its end; it waits for nothing but itself."""

    async def whole() -> tuple[Finding, ...]:
        return tuple(await probe.run(cluster))

    return asyncio.run(whole())


def _key(one: PlannedProbe) -> tuple[str, str]:
    return one.pool, one.spec.id
