"""The gate that takes over counts what the one before had tested: two processes and a real API server."""

import json
import signal
import time
from itertools import permutations

import pytest

from deploy.kube.cluster import ApiServer
from exporter import __version__
from exporter.evidence import EvidenceStore
from exporter.keys import node_key
from exporter.ledger import Ledger
from exporter.plan.load import load_plan
from probes import Finding, Run, Status, Subject
from tests.exporter.program.conftest import PLAN
from tests.exporter.program.test_on_real_api import LEASE, MASTER, decision, leads
from tests.kube import objects

NAMES = ("gpu-001", "gpu-002")
DECIDED = ("visibility", "access", "resources", "placement", "runtime", "transfers")
TESTS = """\
    tests: [{id: ping, probe: connectivity.ping_pong, hcas: compute, every: 6h, fresh: 24h}]
paths: {same_rail: {mode: every_pair}}
budget: {tests_enabled: false}
"""
PATHS = PLAN.replace("{names: [gpu-001]}", "{names: [gpu-001, gpu-002]}") + TESTS


@pytest.fixture(scope="module")
def server(assets):
    with ApiServer(assets) as started:
        objects.namespace(started.api, "rdma-gate")
        yield started


@pytest.fixture
def nodes(prepare):
    def make(name):
        served = prepare(name, roles=["node"], node_key_file="node.key", vantage="pod")
        (served.folder / "node.key").write_text(node_key(MASTER.encode(), name).hex())
        return served.start()

    return [make(name) for name in NAMES]


@pytest.fixture
def make_gate(server, prepare, nodes):
    """``make_gate(name)`` is a gate of both nodes; nothing is tested, since the plan forbids it."""

    def make(name):
        served = prepare(name, roles=["gate"], plan="plan.yaml", decisions="decisions.yaml", key_file="master.key")
        kubeconfig = str(server.kubeconfig(server.api.token))
        served.settings["kubernetes"] = {"kubeconfig": kubeconfig, "namespace": "rdma-gate"}
        served.settings["members"] = [{"name": one.settings["node"], "url": one.url} for one in nodes]
        (served.folder / "plan.yaml").write_text(PATHS)
        decided = [*map(decision, DECIDED), of_probe("connectivity.send_bandwidth")]
        (served.folder / "decisions.yaml").write_text(json.dumps({"decisions": decided}))
        (served.folder / "master.key").write_text(MASTER)
        return served

    yield make
    server.api.ask("DELETE", LEASE)


def of_probe(probe):
    found = decision(probe)
    return {**{key: value for key, value in found.items() if key != "check"}, "probe": probe}


async def leave_results(gate):
    """Leave results of all paths in the gate's ledger, an hour old."""
    state = gate.folder / "state"
    state.mkdir(exist_ok=True)
    ledger = Ledger(state / "ledger.json", EvidenceStore(None), lambda: time.time() - 3600)
    digest = load_plan(gate.folder / "plan.yaml").digest
    for client, server in permutations(NAMES):
        for number in range(8):
            hca = f"mlx5_{number}"
            finding = Finding(Subject(client, hca, "", server, hca), Status.PASS, "", "as planned")
            target, probe = f"{client}:{hca}>{server}:{hca}", "connectivity.ping_pong"
            run = Run(probe, "ping", target, "host", (finding,), 1.0, 2.0, digest, "", __version__)
            ledger.put(run, fresh_seconds=86400.0, pool="h100")
    await ledger.save()


def connected(gate):
    return [gate.status(name, "connectivity") for name in NAMES]


async def test_the_next_leader_goes_on_with_the_paths_that_the_one_before_had_tested(make_gate, capsys):
    first, second = make_gate("gate-a"), make_gate("gate-b")
    await leave_results(first)
    first.start()
    first.until(lambda: leads(first) and connected(first) == ["pass", "pass"])
    second.start()
    second.until(lambda: b"rdma_gate_leader 0.0\n" in second.get("/metrics"))
    second.until(lambda: "following the leading gate: 16 results kept for a takeover" in second.log)
    first.signal(signal.SIGKILL)
    began = time.monotonic()
    second.until(lambda: leads(second))
    led_seconds = time.monotonic() - began
    second.until(lambda: connected(second) == ["pass", "pass"])
    with capsys.disabled():
        print(f"\nkilled to leading: {led_seconds:.1f} s, to every path counted: {time.monotonic() - began:.1f} s")
    assert "16 results of the gate that led before taken over" in second.log
    oldest = b"rdma_gate_path_oldest_result_timestamp_seconds{"
    line = next(one for one in second.get("/metrics").splitlines() if one.startswith(oldest))
    assert time.time() - float(line.split()[-1]) > 3600, "what was carried over keeps its age"
