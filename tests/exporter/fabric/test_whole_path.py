"""A path probe over two guarded ends of real processes: only the NIC itself is played."""

import asyncio
import importlib.util
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from exporter.assignment import Assignment, Budget, Claim, Member, ProbeSpec
from exporter.fabric.guarded import GuardedEndpoint, OwnSlots
from exporter.fabric.held import Wanted, held
from exporter.fabric.port_load import measure_load
from exporter.fabric.running_tests import RunningTests
from exporter.fabric.runs import run_path
from exporter.guard import Guard
from exporter.observe import RunContext
from exporter.registry import build
from probes import HcaClass, Run, Status
from probes._endpoint import Path as FabricPath
from probes._host import Host
from probes._local_endpoint import LocalEndpoint, LocalNode
from probes._tool_version import ToolVersions

FIXTURES = Path(__file__).parents[2] / "fixtures"
SPEC = ProbeSpec(
    "transfers.write_bandwidth",
    "bw",
    {
        "hcas": {"name": "compute", "devices": ["rxe0"]},
        "message": 65536,
        "volume": 655360,
        "repeats": 1,
        "test_limit": 5.0,
    },
)
ADDRESSES = {"": "192.0.2.1"}


class Lab:
    """Two nodes on the recorded guest, each with guard and running tests of its own."""

    def __init__(self, root: Path, tools: Path, clock: Any) -> None:
        self.behaviour = tools / "behaviour"
        self.behaviour.write_text("good")
        self.host = Host(root, environment={"PATH": f"{tools}:{os.environ['PATH']}"})
        self.nodes = {name: self._node(name, tools, clock) for name in ("node-a", "node-b")}
        self.clock = clock

    def _node(self, name: str, tools: Path, clock: Any) -> RunningTests:
        members = tuple(Member(node, addresses=ADDRESSES) for node in ("node-a", "node-b"))
        assignment = Assignment(
            "lab", name, "pool", "d1", reviewed=True, term=1, members=members, budget=Budget(tests_enabled=True)
        )
        hcas = {"compute": HcaClass("compute", devices=("rxe0",))}
        node = LocalNode(name, self.host, lambda: hcas, lambda _member: ADDRESSES, ToolVersions(str(tools)))
        guard = Guard(lambda: assignment, {}, clock, measure_load=lambda request: measure_load(node, request))
        return RunningTests(guard, lambda hca: LocalEndpoint(node, hca))

    async def run(self) -> Run:
        slots = tuple(OwnSlots(name, tests) for name, tests in self.nodes.items())
        wanted = Wanted(slots, Claim("gate-1", 1), "gate gate-1", probe_seconds=60.0)
        client, server = (GuardedEndpoint(name, "rxe0", self.nodes[name], wanted.id) for name in ("node-b", "node-a"))
        path, context = FabricPath(client, server), RunContext("gate", "host", "d1", "boot", "0.1")
        return await run_path(build(SPEC), path, SPEC, context, clock=self.clock, slots=held(wanted))


@pytest.fixture
async def lab(tmp_path: Path, clock: Any) -> AsyncIterator[Lab]:
    spec = importlib.util.spec_from_file_location("make_hosts", FIXTURES / "hosts" / "make_hosts.py")
    assert spec is not None
    assert spec.loader is not None
    hosts = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(hosts)
    root, tools = hosts.HOSTS["rxe"]().write(tmp_path / "rxe"), tmp_path / "bin"
    (root / "proc/net").mkdir(parents=True, exist_ok=True)
    (root / "proc/net/tcp").symlink_to("/proc/net/tcp")
    tools.mkdir()
    counters = root / "sys/class/infiniband/rxe0/ports/1/hw_counters"
    text = (FIXTURES / "paths/fake_perftest.py").read_text().replace("PYTHON", sys.executable)
    tool = tools / "ib_write_bw"
    tool.write_text(text.replace('"COUNTERS"', f'"{counters}"').replace('"BEHAVIOUR"', f'"{tools / "behaviour"}"'))
    tool.chmod(0o755)
    lab = Lab(root, tools, clock)
    yield lab
    lab.host.close()


async def test_a_sound_path_passes_and_both_nodes_count_its_bytes(lab: Lab):
    run = await lab.run()
    (finding,) = run.findings
    assert (finding.status, run.outcome) == (Status.PASS, "done"), finding.summary
    assert [(one.metric, one.value) for one in finding.measured] == [("bandwidth", 0.4e9 / 8)]
    assert (run.target, finding.facts["client_tool_version"]) == ("node-b:rxe0>node-a:rxe0", "6.06")
    assert lab.nodes["node-a"].guard.test_bytes == {"received": 2 * 655360}
    assert lab.nodes["node-b"].guard.test_bytes == {"sent": 2 * 655360}
    assert [tests.guard.tests_outstanding for tests in lab.nodes.values()] == [0, 0]


async def test_bytes_that_no_port_counted_do_not_pass(lab: Lab):
    lab.behaviour.write_text("still")
    (finding,) = (await lab.run()).findings
    assert (finding.status, finding.reason) == (Status.UNKNOWN, "counters_still")


async def test_pausing_one_node_ends_the_test_and_defers_the_run(lab: Lab):
    lab.behaviour.write_text("hang")
    supervisors = [asyncio.create_task(tests.supervise()) for tests in lab.nodes.values()]
    running = asyncio.create_task(lab.run())
    while not running.done() and not all(
        tests.guard.tests_outstanding and tests.running.count for tests in lab.nodes.values()
    ):
        await asyncio.wait({running}, timeout=0.02)
    lab.nodes["node-a"].guard.pause("ana")
    run = await running
    assert (run.outcome, run.findings[0].reason) == ("deferred", "paused")
    for supervisor in supervisors:
        supervisor.cancel()
    await asyncio.gather(*supervisors, return_exceptions=True)
    assert [tests.guard.tests_outstanding for tests in lab.nodes.values()] == [0, 0]
