"""Every planned probe of this machine runs on time, at once when its machine changes, and never while it still hangs.

The scheduler keeps the loops of all probes in one task group: a loop that dies takes the process down, and the
supervisor restarts it. A new assignment restarts the loops that it changes and drops the runs that it leaves out.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import MISSING, asdict, dataclass, fields, replace

from msgspec import structs

from exporter.assignment import Assignment, ProbeSpec
from exporter.clock import Clock
from exporter.ledger import Ledger
from exporter.observe import RunContext
from exporter.probe_loop import LoopPlan, ProbeLoop, build_probe
from exporter.registry import ProbeModule
from exporter.saving import save, save_forever
from probes import HcaClass
from probes._host import Host

NO_EVENTS_SECONDS = 30.0
# A result counts for three intervals and the probe's limit, as in a plan that says nothing else.
FRESH_INTERVALS = 3
FOUND_HCAS = HcaClass("hca")

_log = logging.getLogger(__name__)

LoopKey = tuple[str, str]
Watch = Callable[[Callable[[str], None]], Awaitable[None]]


@dataclass(frozen=True)
class _Started:
    loop: ProbeLoop
    task: asyncio.Task[None]


class Scheduler:
    """Runs the passive probes of one node. ``watch`` calls back with "link" or "address" until it is cancelled.

    ``every_seconds`` tells by probe how often this machine runs it without a plan.
    """

    def __init__(
        self,
        ledger: Ledger,
        context: RunContext,
        modules: Mapping[str, ProbeModule],
        *,
        clock: Clock,
        open_host: Callable[[], Host],
        watch: Watch | None = None,
    ) -> None:
        self.ledger = ledger
        self.assignment: Assignment | None = None
        self.every_seconds: Mapping[str, float] = {}
        self._context = context
        self._modules = modules
        self._clock = clock
        self._open_host = open_host
        self._watch = watch
        self._assigned = asyncio.Event()
        self._hosts: dict[LoopKey, Host] = {}
        self._started: dict[LoopKey, _Started] = {}

    def assign(self, assignment: Assignment | None) -> None:
        """Take over another assignment (None: no plan, probes with default settings only); the loops follow at once."""
        self.assignment = assignment
        self._assigned.set()

    def wake(self, event: str) -> None:
        """Run the probes that this kind of netlink event triggers."""
        for started in self._started.values():
            if event in started.loop.triggers:
                started.loop.wake.set()

    async def run(self) -> None:
        """Probe until cancelled; the ledger is saved every few seconds and at the end."""
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(save_forever(self.ledger, self._clock), name="save the ledger")
                tasks.create_task(self._watch_forever(), name="watch netlink")
                await self._follow_assignments(tasks)
        finally:
            await save(self.ledger)
            for host in self._hosts.values():
                host.close()

    async def _follow_assignments(self, tasks: asyncio.TaskGroup) -> None:
        while True:
            self._assigned.clear()
            self._apply(tasks)
            await self._assigned.wait()

    def _apply(self, tasks: asyncio.TaskGroup) -> None:
        wanted = self._wanted()
        for key, started in list(self._started.items()):
            if wanted.get(key) != started.loop.plan:
                self._stop(key)
        for key, plan in wanted.items():
            if key not in self._started:
                self._start(tasks, key, plan)
        for key in self._hosts.keys() - wanted.keys():
            self._hosts.pop(key).close()
        self._drop_unplanned(wanted.keys())

    def _wanted(self) -> dict[LoopKey, LoopPlan]:
        if self.assignment is None:
            context = replace(self._context, plan_digest="")
            return {(spec.probe, spec.id): LoopPlan(spec, context, "") for spec in self._unplanned()}
        context = replace(self._context, plan_digest=self.assignment.plan_digest)
        pool = self.assignment.pool
        planned = (spec for spec in self.assignment.probes if self._is_passive(spec.probe))
        return {(spec.probe, spec.id): LoopPlan(spec, context, pool) for spec in planned}

    def _unplanned(self) -> Iterator[ProbeSpec]:
        for spec in unplanned_specs(self._modules):
            seconds = self.every_seconds.get(spec.probe, spec.every_seconds)
            fresh_seconds = max(spec.fresh_seconds, FRESH_INTERVALS * seconds + spec.limit_seconds)
            yield structs.replace(spec, every_seconds=seconds, fresh_seconds=fresh_seconds)

    def _start(self, tasks: asyncio.TaskGroup, key: LoopKey, plan: LoopPlan) -> None:
        host = self._hosts.get(key) or self._open_host()
        self._hosts[key] = host
        module = self._modules.get(plan.spec.probe)
        triggers = module.triggers if module else frozenset()
        loop = ProbeLoop(plan, build_probe(plan.spec, module), host, self.ledger, self._clock, triggers)
        task = tasks.create_task(loop.run_forever(), name=f"probe {plan.spec.id}")
        self._started[key] = _Started(loop, task)

    def _stop(self, key: LoopKey) -> None:
        self._started.pop(key).task.cancel()

    def _drop_unplanned(self, wanted: Iterable[LoopKey]) -> None:
        kept = set(wanted)
        for probe, run_id, target in list(self.ledger.latest()):
            if target == self._context.node and (probe, run_id) not in kept and self._is_passive(probe):
                self.ledger.drop((probe, run_id, target))

    def _is_passive(self, probe: str) -> bool:
        module = self._modules.get(probe)
        return module is None or module.kind == "host"

    async def _watch_forever(self) -> None:
        while self._watch is not None:
            try:
                await self._watch(self.wake)
            except OSError as error:
                _log.warning("netlink: %s, events wanted; ports are polled meanwhile", error)
            await self._clock.wait(asyncio.Event(), NO_EVENTS_SECONDS)


def unplanned_specs(modules: Mapping[str, ProbeModule]) -> tuple[ProbeSpec, ...]:
    """Return the probes that run without a plan: those of this machine that need nothing but the HCAs that are here."""
    hosts = (module for module in modules.values() if module.kind == "host")
    return tuple(
        ProbeSpec(one.name, one.name, {name: asdict(FOUND_HCAS) for name in _required(one.probe)})
        for one in hosts
        if _required(one.probe) <= {"hcas"}
    )


def _required(probe: type) -> set[str]:
    return {one.name for one in fields(probe) if one.default is MISSING and one.default_factory is MISSING}
