import asyncio
from collections.abc import Iterable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from exporter.assignment import Assignment, ProbeSpec
from exporter.evidence import EvidenceStore
from exporter.ledger import Ledger
from exporter.observe import RunContext
from exporter.registry import ProbeModule
from exporter.scheduler import Scheduler
from probes import Finding, Run, Status, Subject
from probes._host import Host, Tree

CONTEXT = RunContext("node-a", "host", "", "boot-1", "0.1.0")
PORTS = ProbeSpec("access.ports", "ports", every_seconds=60.0, fresh_seconds=210.0)
GLANCING = ProbeSpec("access.glancing", "glancing", every_seconds=60.0)


@dataclass
class FakeClock:
    time: float = 1000.0
    set_back_seconds: float = 0.0
    timers: list[tuple[float, asyncio.Event]] = field(default_factory=list)

    def now(self) -> float:
        return self.time - self.set_back_seconds

    def monotonic(self) -> float:
        return self.time

    async def wait(self, event: asyncio.Event, limit_seconds: float) -> None:
        timer = (self.time + limit_seconds, asyncio.Event())
        self.timers.append(timer)
        waits = [asyncio.ensure_future(event.wait()), asyncio.ensure_future(timer[1].wait())]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self.timers.remove(timer)
            for one in waits:
                one.cancel()

    async def advance(self, seconds: float) -> None:
        end = self.time + seconds
        await settle()
        while due := sorted((timer for timer in self.timers if timer[0] <= end), key=lambda timer: timer[0]):
            self.time = max(self.time, due[0][0])
            due[0][1].set()
            await settle()
        self.time = end


async def settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


class PromptHost(Host):
    """Reads at once: a worker thread would take real time, of which the fake clock knows nothing."""

    async def read(self, reader):
        return reader(self._tree)


@dataclass(frozen=True)
class Ports:
    hcas: str = "compute"

    async def run(self, host: Host) -> Iterable[Finding]:
        return (Finding(Subject(device=self.hcas), Status.PASS, "", f"{self.hcas}: active"),)


@dataclass(frozen=True)
class Glancing:
    path: str

    async def run(self, host: Host) -> Iterable[Finding]:
        text = await host.read(self.glance)
        return (Finding(Subject(device="mlx5_0"), Status.PASS, "", f"mlx5_0: {text}"),)

    def glance(self, tree: Tree) -> str:
        return tree.text(self.path)


@dataclass(frozen=True)
class PathTest:
    async def run(self, path: object) -> Iterable[Finding]:
        raise AssertionError("a path test is not the scheduler's to run")


def module(name: str, probe: type, triggers: Iterable[str] = (), kind: str = "host") -> ProbeModule:
    return ProbeModule(name, name.partition(".")[0], 2, kind, probe, {}, {}, frozenset(triggers), "")


MODULES = {
    one.name: one
    for one in (
        module("access.ports", Ports, {"link"}),
        module("access.glancing", Glancing),
        module("connectivity.ping_pong", PathTest, kind="path"),
    )
}


def assignment(*specs: ProbeSpec, digest: str = "plan-1") -> Assignment:
    return Assignment("lab", "node-a", "h100", digest, probes=specs)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def ledger(clock: FakeClock) -> Ledger:
    return Ledger(None, EvidenceStore(None), clock.now)


@pytest.fixture
def runs(ledger: Ledger) -> list[Run]:
    seen: list[Run] = []
    ledger.listen(lambda record: seen.append(record.run))
    return seen


@asynccontextmanager
async def scheduling(ledger: Ledger, clock: FakeClock, plan: Assignment | None, **options) -> Iterator[Scheduler]:
    options = {"open_host": Host, **options}
    every_seconds = options.pop("every_seconds", {})
    scheduler = Scheduler(ledger, CONTEXT, MODULES, clock=clock, **options)
    scheduler.every_seconds = every_seconds
    scheduler.assign(plan)
    task = asyncio.ensure_future(scheduler.run())
    try:
        yield scheduler
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_a_planned_probe_runs_within_the_spread_and_then_every_interval(ledger, clock, runs):
    async with scheduling(ledger, clock, assignment(PORTS)):
        await clock.advance(5)
        assert len(runs) == 1
        await clock.advance(60)
        assert len(runs) == 2
        await clock.advance(120)
        assert len(runs) == 4


async def test_a_clock_that_is_set_back_an_hour_delays_no_run(ledger, clock, runs):
    async with scheduling(ledger, clock, assignment(PORTS)):
        await clock.advance(5)
        clock.set_back_seconds = 3600.0
        await clock.advance(60)
        assert len(runs) == 2
        await clock.advance(60)
        assert (len(runs), runs[0].started - runs[2].started) == (3, 3480.0)


async def test_an_event_is_answered_at_once_also_after_the_clock_was_set_back(ledger, clock, runs):
    async with scheduling(ledger, clock, assignment(PORTS)) as scheduler:
        await clock.advance(5)
        clock.set_back_seconds = 3600.0
        scheduler.wake("link")
        await clock.advance(1)
        assert len(runs) == 2


async def test_a_run_carries_the_plan_the_pool_and_how_long_it_counts(ledger, clock, runs):
    async with scheduling(ledger, clock, assignment(PORTS)):
        await clock.advance(5)
    record = ledger.get(("access.ports", "ports", "node-a"))
    assert (record.pool, record.fresh_seconds, record.run.plan_digest) == ("h100", 210.0, "plan-1")
    assert record.run.findings == (
        Finding(Subject(node="node-a", device="compute"), Status.PASS, "", "compute: active"),
    )


async def test_without_a_plan_the_probes_that_need_no_settings_run(ledger, clock, runs):
    async with scheduling(ledger, clock, None):
        await clock.advance(5)
    assert [(run.probe, run.plan_digest) for run in runs] == [("access.ports", "")]


async def test_without_a_plan_this_machines_own_intervals_hold(ledger, clock, runs):
    async with scheduling(ledger, clock, None, every_seconds={"access.ports": 200.0}):
        await clock.advance(5)
        await clock.advance(190)
        assert len(runs) == 1
        await clock.advance(15)
        assert len(runs) == 2
    assert ledger.get(("access.ports", "access.ports", "node-a")).fresh_seconds == 630.0


async def test_a_path_test_is_never_run_here(ledger, clock, runs):
    path_test = ProbeSpec("connectivity.ping_pong", "ping")
    async with scheduling(ledger, clock, assignment(path_test)):
        await clock.advance(600)
    assert runs == []


async def test_a_restart_does_not_repeat_a_run_that_is_not_due(ledger, clock, runs):
    async with scheduling(ledger, clock, assignment(PORTS)):
        await clock.advance(5)
    received = ledger.get(("access.ports", "ports", "node-a")).received
    async with scheduling(ledger, clock, assignment(PORTS)):
        await clock.advance(received + 59 - clock.time)
        assert len(runs) == 1
        await clock.advance(2)
        assert len(runs) == 2


async def test_a_changed_plan_digest_runs_the_probes_again_at_once(ledger, clock, runs):
    async with scheduling(ledger, clock, assignment(PORTS)) as scheduler:
        await clock.advance(5)
        scheduler.assign(assignment(PORTS, digest="plan-2"))
        await clock.advance(5)
    assert [run.plan_digest for run in runs] == ["plan-1", "plan-2"]


async def test_an_equal_assignment_restarts_nothing(ledger, clock, runs):
    async with scheduling(ledger, clock, assignment(PORTS)) as scheduler:
        await clock.advance(5)
        scheduler.assign(assignment(PORTS))
        await clock.advance(50)
    assert len(runs) == 1


async def test_runs_that_nobody_plans_any_more_are_dropped(ledger, clock, runs):
    async with scheduling(ledger, clock, assignment(PORTS)) as scheduler:
        await clock.advance(5)
        scheduler.assign(assignment())
        await clock.advance(300)
    assert dict(ledger.latest()) == {}
    assert len(runs) == 1


async def test_runs_of_other_nodes_and_of_paths_are_kept(ledger, clock):
    for probe, target in (("access.ports", "node-b"), ("connectivity.ping_pong", "node-a:d>node-b:d")):
        ledger.put(Run(probe, "x", target, "host", (), 1.0, 2.0, "plan-1", "boot-1", "0.1.0"))
    async with scheduling(ledger, clock, assignment()):
        await clock.advance(5)
    assert sorted(target for _, _, target in ledger.latest()) == ["node-a:d>node-b:d", "node-b"]


async def test_a_link_event_runs_the_probe_once_after_the_burst_settles(ledger, clock, runs):
    async with scheduling(ledger, clock, assignment(PORTS)) as scheduler:
        await clock.advance(20)
        for _ in range(3):
            scheduler.wake("link")
            await settle()
        await clock.advance(0.04)
        assert len(runs) == 1
        await clock.advance(0.02)
        assert len(runs) == 2


async def test_events_all_day_make_at_most_one_run_a_second(ledger, clock, runs):
    async with scheduling(ledger, clock, assignment(PORTS)) as scheduler:
        await clock.advance(20)
        for _ in range(100):
            scheduler.wake("link")
            await clock.advance(0.1)
    assert 10 <= len(runs) <= 12


async def test_an_event_of_another_kind_wakes_nothing(ledger, clock, runs):
    async with scheduling(ledger, clock, assignment(PORTS)) as scheduler:
        await clock.advance(20)
        scheduler.wake("address")
        await clock.advance(5)
    assert len(runs) == 1


async def test_the_watcher_wakes_probes_and_its_absence_stops_nothing(ledger, clock, runs, caplog):
    async def watch(on_event):
        raise OSError(97, "Address family not supported by protocol")

    async with scheduling(ledger, clock, assignment(PORTS), watch=watch):
        await clock.advance(70)
    assert len(runs) == 2
    assert "ports are polled meanwhile" in caplog.text


async def test_a_changed_glance_runs_the_probe_at_once(ledger, clock, runs, tmp_path):
    (tmp_path / "state").write_text("4: ACTIVE")
    spec = ProbeSpec("access.glancing", "glancing", {"path": "/state"}, every_seconds=60.0)
    async with scheduling(ledger, clock, assignment(spec), open_host=lambda: PromptHost(tmp_path)):
        await clock.advance(5)
        assert len(runs) == 1
        (tmp_path / "state").write_text("1: DOWN")
        await clock.advance(2)
    assert [run.findings[0].summary for run in runs] == ["mlx5_0: 4: ACTIVE", "mlx5_0: 1: DOWN"]


async def test_settings_that_do_not_fit_are_unknown_and_say_which(ledger, clock, runs):
    spec = ProbeSpec("access.ports", "ports", {"hcas": 3})
    async with scheduling(ledger, clock, assignment(spec)):
        await clock.advance(5)
    sentence = "access.ports: Expected `str`, got `int` - at `$.hcas`, settings of this probe wanted"
    assert runs[0].findings == (Finding(Subject(node="node-a"), Status.UNKNOWN, "wrong_settings", sentence),)


async def test_a_probe_that_this_program_does_not_have_is_unknown(ledger, clock, runs):
    async with scheduling(ledger, clock, assignment(ProbeSpec("access.novel", "novel"))):
        await clock.advance(5)
    assert [finding.reason for finding in runs[0].findings] == ["unknown_probe"]


async def test_the_ledger_is_saved_at_the_end(clock, tmp_path):
    path = tmp_path / "ledger.json"
    ledger = Ledger(path, EvidenceStore(None), clock.now)
    async with scheduling(ledger, clock, assignment(PORTS)):
        await clock.advance(4.9)
    assert list(Ledger(path, EvidenceStore(None), clock.now).latest()) == [("access.ports", "ports", "node-a")]


async def test_a_ledger_that_cannot_be_saved_is_said_and_tried_again(clock, tmp_path, caplog):
    (tmp_path / "state").write_text("a file where a directory is needed")
    ledger = Ledger(tmp_path / "state" / "ledger.json", EvidenceStore(None), clock.now)
    async with scheduling(ledger, clock, assignment(PORTS)):
        await clock.advance(4)
    assert ledger.dirty
    assert "ledger: not saved" in caplog.text


async def test_a_loop_that_dies_takes_the_scheduler_down(ledger, clock):
    def die(record):
        raise RuntimeError("a listener broke")

    ledger.listen(die)
    scheduler = Scheduler(ledger, CONTEXT, MODULES, clock=clock, open_host=Host)
    scheduler.assign(assignment(PORTS))
    task = asyncio.ensure_future(scheduler.run())
    await clock.advance(5)
    with pytest.raises(ExceptionGroup, match="TaskGroup"):
        await task


async def test_every_loop_has_a_name(ledger, clock):
    async with scheduling(ledger, clock, assignment(PORTS)):
        await clock.advance(5)
        names = {task.get_name() for task in asyncio.all_tasks()}
    assert {"probe ports", "save the ledger"} <= names


async def test_a_probe_that_is_always_due_leaves_the_process_a_second_between_its_runs(ledger, clock, runs):
    async with scheduling(ledger, clock, assignment(ProbeSpec("no.such", "no.such", every_seconds=0.0))):
        await clock.advance(10.5)
    assert {run.findings[0].reason for run in runs} == {"unknown_probe"}
    assert len(runs) == 11
