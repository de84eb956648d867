"""The node role: passive probes on time, tests only as the guard admits them, work as the gate last handed it out."""

import asyncio
import logging
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import msgspec

from exporter import __version__, registry
from exporter.assignment import Assignment, Claim, ProbeSpec
from exporter.clock import Clock
from exporter.fabric.port_load import measure_load, measure_loads
from exporter.fabric.running_bursts import RunningBursts
from exporter.fabric.running_tests import RunningTests
from exporter.guard import Guard
from exporter.ledger import Ledger
from exporter.metrics.own import OwnCost
from exporter.observe import RunContext
from exporter.scheduler import Scheduler
from exporter.settings import Settings
from probes._burst_node import BurstNode
from probes._endpoint import Refused
from probes._host import Host, Tree
from probes._local_endpoint import LocalEndpoint, LocalNode
from probes._local_group import LocalGroupEndpoint, remove_left_over
from probes._runner import find_runner
from probes._tool_version import ToolVersions
from probes.readers.gpu import read_gpus
from probes.readers.netlink import watch
from probes.readers.optional import optional_text

BOOT_ID = "/proc/sys/kernel/random/boot_id"

_log = logging.getLogger(__name__)


class NodeRole:
    """Everything that one node does. ``environment`` supplies PATH, HOME and LD_LIBRARY_PATH to the tools."""

    def __init__(self, settings: Settings, ledger: Ledger, clock: Clock, environment: Mapping[str, str]) -> None:
        self.settings = settings
        self._ledger = ledger
        self._runner = find_runner(sys.executable, Tree(settings.host_root))
        self._environment = environment = self._runner.environment(environment) if self._runner else environment
        self._given: Assignment | None = None
        self._assignment_file = settings.state_dir / "assignment.json"
        self._test_host = self._open_host()
        self._local = LocalNode(
            settings.node,
            self._test_host,
            hcas=lambda: self.assignment.hcas if self.assignment else {},
            addresses=self._addresses,
            versions=ToolVersions(environment.get("PATH", "")),
        )
        self.guard = Guard(
            lambda: self.assignment,
            ledger.tokens,
            clock,
            measure_load=lambda request: measure_load(self._local, request),
            pause_file=settings.pause_file,
            spent=self._spent,
        )
        self.tests = RunningTests(self.guard, lambda hca: LocalEndpoint(self._local, hca))
        self.bursts = RunningBursts(
            self.guard,
            lambda: self.assignment,
            lambda: LocalGroupEndpoint(self._burst_node()),
            partial(measure_loads, self._local),
        )
        self.context = run_context(settings)
        open_host: Callable[[], Host] = self._open_host
        self.scheduler = Scheduler(
            ledger, self.context, registry.probes(), clock=clock, open_host=open_host, watch=watch
        )
        self.scheduler.every_seconds = settings.every_seconds
        self._take(_kept_assignment(self._assignment_file, settings.node))

    @property
    def assignment(self) -> Assignment | None:
        """What this node does now; None without a plan."""
        return self.scheduler.assignment

    def assign(self, assignment: Assignment) -> None:
        """Take over a gate's assignment and keep it on disk; a person's only where no gate speaks for this node.

        ValueError for another node's; Refused for that of an older term or a second gate, or of another plan.
        """
        if assignment.node != self.settings.node:
            raise ValueError(f"assignment: for {assignment.node}, {self.settings.node} wanted")
        if not assignment.gate:
            if self._has_gate(assignment):
                return
            assignment = msgspec.structs.replace(assignment, term=self._given.term if self._given else 0)
        self.guard.obey(assignment.claim)
        if assignment != self._given:
            self._assignment_file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._assignment_file.write_bytes(msgspec.json.encode(assignment))
            self._take(assignment)

    def _has_gate(self, assignment: Assignment) -> bool:
        """Whether a gate speaks for this node, with the plan of that assignment. Refused where with another one."""
        gate, given = self.guard.leader.gate, self._given
        if not gate:
            return False
        if given is None or given.plan_digest != assignment.plan_digest:
            found, wanted = assignment.plan_digest[:12], given.plan_digest[:12] if given else "none"
            raise Refused("other_plan", f"{assignment.node}: plan {found} found, that of gate {gate} wanted ({wanted})")
        return True

    def follow(self, assignment: Assignment | None, claim: Claim) -> None:
        """Take over what the plan of the gate in this process has for this node now, which may be nothing."""
        if assignment is None:
            self.withdraw()
        else:
            self.assign(msgspec.structs.replace(assignment, gate=claim.gate))

    def withdraw(self) -> None:
        """Go back to work without a plan."""
        self._assignment_file.unlink(missing_ok=True)
        self._take(None)

    async def run(self) -> None:
        """Probe and supervise tests until cancelled."""
        remove_left_over(self.settings.state_dir)
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self.scheduler.run(), name="scheduler")
                tasks.create_task(self.tests.supervise(), name="supervise tests")
                tasks.create_task(self.bursts.supervise(), name="supervise bursts")
        finally:
            self._test_host.close()

    def pause(self, paused: bool, who: str) -> None:
        """Stop tests within a second, or allow them again."""
        if paused:
            self.guard.pause(who)
        else:
            self.guard.resume()

    def cost(self) -> OwnCost:
        """What testing costs this node so far."""
        budget = self.assignment.budget.bytes_per_node_per_hour if self.assignment else 0
        return OwnCost(
            test_bytes=self.guard.test_bytes,
            deferrals=self.guard.deferrals,
            outstanding=self.guard.tests_outstanding,
            budget_bytes=budget,
            budget_left_bytes=self._ledger.tokens.get("bytes"),
            paused={"node": bool(self.guard.paused)},
        )

    def _take(self, assignment: Assignment | None) -> None:
        self._given = assignment
        if assignment is not None:
            probes = tuple(map(self._at_own_interval, assignment.probes))
            assignment = msgspec.structs.replace(assignment, probes=probes)
        self.scheduler.assign(assignment)

    def _at_own_interval(self, spec: ProbeSpec) -> ProbeSpec:
        own_seconds = self.settings.every_seconds.get(spec.probe)
        if own_seconds is None:
            return spec
        # The plan says how long a result counts, so a run that came later than that would leave the check stale.
        every_seconds = min(own_seconds, spec.fresh_seconds - spec.limit_seconds)
        return msgspec.structs.replace(spec, every_seconds=every_seconds)

    def _addresses(self, member: str) -> Mapping[str, str]:
        members = self.assignment.members if self.assignment else ()
        return next((one.addresses for one in members if one.name == member), {})

    def _burst_node(self) -> BurstNode:
        return BurstNode(
            self.settings.node,
            self._test_host,
            partial(read_gpus, self._test_host),
            self.settings.bursts.over(self._environment),
            search_path=self._environment.get("PATH", ""),
            directory=self.settings.state_dir,
        )

    def _open_host(self) -> Host:
        return Host(self.settings.host_root, environment=self._environment, launcher=self._runner)

    def _spent(self) -> None:
        self._ledger.dirty = True


def run_context(settings: Settings) -> RunContext:
    """Return what every run of this process carries."""
    boot_id = optional_text(Tree(settings.host_root), BOOT_ID)
    return RunContext(settings.node, settings.vantage, "", boot_id, __version__)


def _kept_assignment(path: Path, node: str) -> Assignment | None:
    try:
        kept = msgspec.json.decode(path.read_bytes(), type=Assignment)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.DecodeError) as error:
        _log.warning("%s: %s; passive probes run without a plan until the gate speaks", path, error)
        return None
    return kept if kept.node == node else None
