"""What a gate of 64 nodes with 8 rails does to its own event loop, while records come in and path tests are refused."""

import asyncio
import random
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from deploy.ports import free_port
from exporter import __version__, registry
from exporter.assignment import ProbeSpec
from exporter.clock import SystemClock
from exporter.evidence import EvidenceStore
from exporter.fabric.expected import expected_paths
from exporter.fabric.planned_paths import ends_of, path_modes
from exporter.ledger import Ledger, Record
from exporter.metrics.blocks import BlockStore
from exporter.metrics.verdict import VerdictMetrics
from exporter.plan import Plan
from exporter.plan.load import parse_plan
from exporter.program.gate import GateRole
from exporter.program.loop_first import put_loop_first
from exporter.settings import KnownMember, Settings
from probes import Finding, Run, Status, Subject
from tests.bench.figures import Figure
from tests.bench.server import REPOSITORY, python

NODES, RAILS = 64, 8
SETTLE_SECONDS, WATCH_SECONDS, TICK_SECONDS = 5.0, 20.0, 0.005
RECORDS_PER_SECOND = 12
STALL_GOAL_SECONDS = 0.05
NAMES = [f"gpu-{number:03}" for number in range(NODES)]
PLAN = f"""\
cluster: bench
reviewed: {{by: bench, on: 2026-11-30, ref: "tests/bench"}}
pools:
  - name: h100
    nodes: {{names: [{", ".join(NAMES)}]}}
    hcas:
      compute: {{match: {{devices: [{", ".join(f"mlx5_{rail}" for rail in range(RAILS))}]}}}}
    checks:
      access.ports: {{hcas: compute, rate: 400Gbit/s, every: 10s, fresh: 1h}}
      access.device_files: {{hcas: compute, every: 10s, fresh: 1h}}
      access.gids: {{hcas: compute, every: 10m, fresh: 1h}}
      runtime.memory_lock: {{hcas: compute, limit: 64GiB, fresh: 1h}}
      runtime.versions: {{hcas: compute, fresh: 1h}}
    tests:
      - {{id: ping, probe: connectivity.ping_pong, hcas: compute, every: 24h, fresh: 72h}}
      - {{id: send, probe: connectivity.send_bandwidth, hcas: compute, volume: 1MiB, every: 24h, fresh: 72h}}
      - {{id: write, probe: transfers.write_bandwidth, hcas: compute, message: 64KiB, volume: 1MiB, every: 24h, fresh: 72h}}
paths: {{same_rail: {{mode: sampled, peers_per_hca: 4}}, cross_rail: {{mode: one_per_rail_pair}}}}
budget: {{tests_enabled: true, tests_at_once: 16}}
"""  # noqa: E501 one test is one line


def figures(folder: Path) -> Iterator[Figure]:
    """Yield the longest time for which the loop did nothing else, and what the gate's process burns."""
    stalls, cpu_share, paths = asyncio.run(_watch(folder / "gate"))
    note = f"{NODES} nodes, {RAILS} rails, {paths} paths, {RECORDS_PER_SECOND} records/s, {WATCH_SECONDS:.0f} s"
    yield Figure("gate, worst stall of the event loop", max(stalls) * 1e3, "ms", STALL_GOAL_SECONDS * 1e3, note=note)
    ordered = sorted(stalls)
    yield Figure("gate, 99th of 100 stalls", ordered[int(len(ordered) * 0.99)] * 1e3, "ms")
    yield Figure("gate, CPU of one core", cpu_share * 100, "%")


async def _watch(folder: Path) -> tuple[list[float], float, int]:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "plan.yaml").write_text(PLAN)
    port = free_port(0)
    members = tuple(KnownMember(name, f"http://127.0.0.1:{port}/{name}", {"": "192.0.2.1"}) for name in NAMES)
    settings = Settings("gate", frozenset({"gate"}), "127.0.0.1", 0, folder, folder / "plan.yaml", members=members)
    clock = SystemClock()
    ledger = Ledger(None, EvidenceStore(None), clock.now)
    plan = parse_plan(PLAN, registry.probes())
    paths = _fill(ledger, plan, members)
    gate = GateRole(settings, ledger, clock, node=None, metrics=VerdictMetrics(BlockStore()))
    assert gate.plan is not None, "the bench's plan is not of use"
    put_loop_first()
    nodes = await asyncio.create_subprocess_exec(*python("tests.bench.played_nodes", port), cwd=REPOSITORY)
    tasks = [asyncio.create_task(gate.run()), asyncio.create_task(_report(ledger, plan))]
    await asyncio.sleep(SETTLE_SECONDS)
    assert gate.view.pools[0].nodes[0].state == "reachable"
    burnt, began = time.process_time(), time.monotonic()
    stalls = await _stalls()
    cpu_share = (time.process_time() - burnt) / (time.monotonic() - began)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    nodes.terminate()
    await nodes.wait()
    return stalls, cpu_share, paths


async def _stalls() -> list[float]:
    loop, found = asyncio.get_running_loop(), []
    end = loop.time() + WATCH_SECONDS
    while (now := loop.time()) < end:
        await asyncio.sleep(TICK_SECONDS)
        found.append(max(0.0, loop.time() - now - TICK_SECONDS))
    return found


def _fill(ledger: Ledger, plan: Plan, members: tuple[KnownMember, ...]) -> int:
    """All passed, on nodes and on paths, at some time of the last day; returns how many paths there are."""
    drawn, (pool,) = random.Random(1), plan.pools
    for node in NAMES:
        for spec in pool.probes:
            ledger.receive(_record(ledger, plan, spec, node))
    for spec in pool.tests:
        paths = expected_paths(ends_of(plan, pool, spec, members, {}), path_modes(plan))
        for path in paths:
            age_seconds = drawn.uniform(0, 24.1 * 3600)
            ledger.receive(_record(ledger, plan, spec, path.target), age_seconds=age_seconds)
    return len(paths)


async def _report(ledger: Ledger, plan: Plan) -> None:
    drawn, (pool,) = random.Random(2), plan.pools
    while True:
        await asyncio.sleep(1 / RECORDS_PER_SECOND)
        ledger.receive(_record(ledger, plan, drawn.choice(pool.probes), drawn.choice(NAMES)))


def _record(ledger: Ledger, plan: Plan, spec: ProbeSpec, target: str) -> Record:
    now = ledger.now()
    node, _, device = target.partition(">")[0].partition(":")
    devices = [device] if device else [f"mlx5_{rail}" for rail in range(RAILS)]
    findings = tuple(Finding(Subject(node, one, port="1"), Status.PASS, "", f"{one}: as planned") for one in devices)
    run = Run(spec.probe, spec.id, target, "host", findings, now, now, plan.digest, "boot", __version__)
    ledger_record = Ledger(None, EvidenceStore(None), ledger.now).put(run, fresh_seconds=spec.fresh_seconds)
    return msgspec.structs.replace(ledger_record, pool="h100")
