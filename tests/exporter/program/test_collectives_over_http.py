"""A gate and its nodes over HTTP: collectives are planned, leased, run on every node, judged, and open the gate."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import yaml
from aiohttp.test_utils import TestServer

from exporter import registry
from exporter.clock import SystemClock
from exporter.demands import PortLoad
from exporter.evidence import EvidenceStore
from exporter.fabric.running_bursts import RunningBursts
from exporter.ledger import Ledger
from exporter.metrics.blocks import BlockStore
from exporter.metrics.records import RecordMetrics
from exporter.metrics.scrape import Scrape
from exporter.metrics.verdict import VerdictMetrics
from exporter.program.gate import GateRole
from exporter.program.node import NodeRole
from exporter.settings import KnownMember, Settings
from exporter.web.app import make_app
from exporter.web.services import Services
from probes._endpoint import Refused
from tests.fixtures.groups.group_ends import SOCKET, PlayedNode, changed, log

LIMIT_SECONDS = 60.0
NAMES = ("node-a", "node-b")
PLAN = """\
cluster: lab
reviewed: {by: ana, on: 2026-11-30, ref: "git:3f2c9e1"}
pools:
  - name: h100
    nodes: {names: [node-a, node-b]}
    tests:
      - {id: ar, probe: transfers.collectives, groups: {whole_pool: true, ranks_per_node: 2},
         collective: all_reduce, message: 1MiB, iterations: 3, warm_ups: 1, every: 1m,
         targets: [{metric: bus_bandwidth, at_least: 50MB/s, source: "acceptance run 2026-03-02"}]}
budget: {tests_enabled: true}
"""
ELSEWHERE = [word for word in registry.checks() if word != "transfers"]
NOT_HERE = [
    *(("check", word) for word in ELSEWHERE),
    ("probe", "transfers.write_bandwidth"),
    ("probe", "transfers.write_latency"),
]


def decisions_text() -> str:
    people = dict.fromkeys(("requester", "owner", "justification", "compensating_control"), "not here")
    expires = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 86400))
    return yaml.safe_dump(
        {
            "decisions": [
                {"id": f"d{at}", key: name, "scope": "all", "kind": "not_applicable", **people, "approver": "bo"}
                | {"expires": expires}
                for at, (key, name) in enumerate(NOT_HERE)
            ]
        }
    )


async def no_load() -> dict[str, PortLoad]:
    return {}


@dataclass
class Cluster:
    """Two node roles behind real HTTP servers, and a gate role that follows them. ``ends`` are all parts of bursts."""

    folder: Path
    node_of: Callable[[str], PlayedNode] = PlayedNode
    ends: dict[str, list[PlayedNode]] = field(default_factory=lambda: {name: [] for name in NAMES})
    servers: list[TestServer] = field(default_factory=list)
    tasks: list[asyncio.Task[None]] = field(default_factory=list)
    nodes: dict[str, NodeRole] = field(default_factory=dict)

    async def start(self) -> "Cluster":
        clock = SystemClock()
        members = [KnownMember(name, await self._serve(name, clock), {"": "127.0.0.1"}) for name in NAMES]
        (self.folder / "plan.yaml").write_text(PLAN)
        (self.folder / "decisions.yaml").write_text(decisions_text())
        settings = Settings(
            "gate",
            frozenset({"gate"}),
            "127.0.0.1",
            0,
            self.folder / "gate",
            plan=self.folder / "plan.yaml",
            decisions=self.folder / "decisions.yaml",
            members=tuple(members),
        )
        self.ledger = Ledger(None, EvidenceStore(None), clock.now)
        self.gate = GateRole(settings, self.ledger, clock, node=None, metrics=VerdictMetrics(BlockStore()))
        self._run(self.gate.run())
        return self

    async def _serve(self, name: str, clock: SystemClock) -> str:
        (self.folder / name).mkdir()
        settings = Settings(name, frozenset({"node"}), "127.0.0.1", 0, self.folder / name)
        ledger = Ledger(None, EvidenceStore(None), clock.now)
        node = NodeRole(settings, ledger, clock, {})
        # The machine's GPUs are played; all in front of them is real.
        node.bursts = RunningBursts(node.guard, lambda: node.assignment, lambda: self._end(name), no_load)
        self.nodes[name] = node
        self._run(node.bursts.supervise())
        store = BlockStore()
        scrape = Scrape(name, store, RecordMetrics(store, ledger, name, registry.probes()))
        services = Services(name, ledger, scrape, tests=node.tests, bursts=node.bursts, assign=node.assign)
        self.servers.append(TestServer(make_app(services)))
        await self.servers[-1].start_server()
        return str(self.servers[-1].make_url("/"))

    def _end(self, name: str) -> PlayedNode:
        self.ends[name].append(self.node_of(name))
        return self.ends[name][-1]

    def _run(self, work) -> None:
        self.tasks.append(asyncio.create_task(work))

    async def until(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(LIMIT_SECONDS):
            while not holds():
                assert not any(task.done() for task in self.tasks), [task for task in self.tasks if task.done()]
                await asyncio.sleep(0.02)

    def transfers(self) -> dict[str, tuple[str, str]]:
        nodes = [node for pool in self.gate.verdict.pools for node in pool.nodes]
        return {node.node: (node.check("transfers").status.value, node.check("transfers").why) for node in nodes}

    async def stop(self) -> None:
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        for server in self.servers:
            await server.close()


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[Callable[..., Cluster]]:
    made: list[Cluster] = []

    def one(**more) -> Cluster:
        made.append(Cluster(tmp_path, **more))
        return made[-1]

    yield one
    for running in made:
        await running.stop()


async def test_a_clean_collective_opens_the_gate_and_leaves_no_slot_held(cluster):
    lab = await cluster().start()
    await lab.until(lambda: lab.gate.verdict.is_open)
    first, second = (lab.ends[name][0].asked[0] for name in NAMES)
    assert (first.first_rank, second.first_rank, second.unique_id != "") == (0, 2, True)
    assert lab.gate.verdict.banner == "open by 8 decisions, identity not verified"
    await lab.until(lambda: not any(node.guard.tests_outstanding for node in lab.nodes.values()))
    assert all(node.guard.test_bytes["sent"] for node in lab.nodes.values())


async def test_a_collective_over_tcp_closes_every_node_with_the_reason(cluster):
    def node_of(name: str) -> PlayedNode:
        return PlayedNode(name, {rank: changed(debug_log=log(name, rank, 4, 2, SOCKET)) for rank in range(4)})

    lab = await cluster(node_of=node_of).start()
    await lab.until(lambda: lab.transfers() and all(status == "failed" for status, _ in lab.transfers().values()))
    why = lab.transfers()["node-b"][1]
    assert why == "whole-pool: 4 channel ends over Socket found, RDMA with GPUDirect wanted"
    reasons = {item.reason for item in lab.gate.verdict.node("node-a").check("transfers").reasons}
    assert reasons == {"tcp_fallback"}


async def test_a_rank_that_dies_ends_the_other_nodes_part_and_blames_its_node(cluster):
    def node_of(name: str) -> PlayedNode:
        died = changed(exit_status=-9, seconds=(), detail="rank_died: rank 2 ended with signal SIGKILL")
        return PlayedNode(name, {2: died}, hangs=name == "node-a")

    lab = await cluster(node_of=node_of).start()
    await lab.until(lambda: lab.transfers().get("node-b", ("", ""))[0] == "failed")
    assert lab.ends["node-a"][0].stopped
    assert lab.transfers()["node-a"][0] != "failed"


async def test_a_busy_gpu_is_counted_as_a_deferral_and_fails_nobody(cluster):
    def node_of(name: str) -> PlayedNode:
        return PlayedNode(name, error=Refused("gpu_busy", f"{name}: GPU 0 at 97 %, an idle one wanted"))

    lab = await cluster(node_of=node_of).start()
    await lab.until(lambda: lab.gate.tester.deferrals["gpu_busy"] > 0)
    await lab.until(lambda: {status for status, _ in lab.transfers().values()} == {"missing"})


async def test_a_pause_at_one_node_ends_the_burst_on_all_and_is_no_verdict(cluster):
    lab = await cluster(node_of=lambda name: PlayedNode(name, hangs=True)).start()
    await lab.until(lambda: all(lab.ends[name] and lab.ends[name][0].asked for name in NAMES))
    lab.nodes["node-b"].guard.pause("ana")
    await lab.until(lambda: all(lab.ends[name][0].stopped for name in NAMES))
    await lab.until(lambda: lab.gate.tester.deferrals.total() > 0)
    assert "paused" in lab.gate.tester.deferrals
    await lab.until(lambda: {status for status, _ in lab.transfers().values()} == {"missing"})
