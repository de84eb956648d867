"""A gate that tests all the time, and people who test as well, as processes of their own: everybody has their turn."""

import json
import runpy
import subprocess
import sys
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from exporter.keys import node_key
from tests.exporter.program.conftest import REPOSITORY, Served

MASTER = "6d" * 32
NODES = ("node-a", "node-b")
PLAN = """\
cluster: lab
reviewed: {by: ana, on: 2026-11-30, ref: "git:3f2c9e1"}
pools:
  - name: lab
    nodes: {names: [node-a, node-b]}
    hcas:
      compute: {match: {devices: [rxe0]}}
    checks:
      access.ports: {hcas: compute, every: 2s}
    tests:
      - {id: bw-1, probe: transfers.write_bandwidth, hcas: compute, message: 64KiB, volume: 640KiB, repeats: 1,
         every: 10s, fresh: 24h}
      - {id: bw-2, probe: transfers.write_bandwidth, hcas: compute, message: 64KiB, volume: 640KiB, repeats: 1,
         every: 10s, fresh: 24h}
paths: {same_rail: {mode: every_pair}}
budget: {tests_enabled: true, bytes_per_node_per_hour: 1000GiB, tests_at_once: 2}
"""
DECISION = """\
  - {{id: no-{check}, kind: not_applicable, check: {check}, scope: all, requester: ana, owner: ana, approver: bo,
     justification: played machines, compensating_control: none, expires: "{expires}"}}
"""
NOT_HERE = ("access", "runtime", "connectivity")
CHECK_LIMIT_SECONDS = 600.0
TARGETS = ("node-a:rxe0>node-b:rxe0", "node-b:rxe0>node-a:rxe0")


@dataclass
class Lab:
    """Two nodes over one played machine, whose tool behaves as ``behaviour`` says, and as many gates as are made."""

    prepare: object
    nodes: dict[str, Served]
    behaviour: Path

    def gate(self, name: str, plan: str = PLAN, **settings) -> Served:
        members = [{"name": one, "url": node.url, "address": "192.0.2.1"} for one, node in self.nodes.items()]
        files = {"plan": "plan.yaml", "decisions": "decisions.yaml", "key_file": "master.key"}
        served = self.prepare(name, **{"roles": ["gate"], "members": members, **files, **settings})
        for file, text in (("plan.yaml", plan), ("decisions.yaml", decisions()), ("master.key", MASTER)):
            (served.folder / file).write_text(text)
        return served


@pytest.fixture
def lab(prepare, tmp_path) -> Lab:
    machine = runpy.run_path(str(REPOSITORY / "tests/fixtures/hosts/make_hosts.py"))["HOSTS"]["rxe"]()
    root, tools = machine.write(tmp_path / "rxe"), tmp_path / "bin"
    (root / "proc/net").mkdir(parents=True, exist_ok=True)
    (root / "proc/net/tcp").symlink_to("/proc/net/tcp")
    tools.mkdir()
    behaviour = tools / "behaviour"
    behaviour.write_text("good")
    counters = root / "sys/class/infiniband/rxe0/ports/1/hw_counters"
    text = (REPOSITORY / "tests/fixtures/paths/fake_perftest.py").read_text().replace("PYTHON", sys.executable)
    tool = tools / "ib_write_bw"
    tool.write_text(text.replace('"COUNTERS"', f'"{counters}"').replace('"BEHAVIOUR"', f'"{behaviour}"'))
    tool.chmod(0o755)
    nodes = {}
    for name in NODES:
        nodes[name] = prepare(name, roles=["node"], tools=str(tools), node_key_file="node.key", host_root=str(root))
        (nodes[name].folder / "node.key").write_text(node_key(MASTER.encode(), name).hex())
        nodes[name].start()
    return Lab(prepare, nodes, behaviour)


def decisions() -> str:
    expires = (datetime.now(UTC) + timedelta(days=30)).strftime("%Y-%m-%dT%H:%M:%SZ")
    return "decisions:\n" + "".join(DECISION.format(check=one, expires=expires) for one in NOT_HERE)


def results_of(gate: Served) -> dict[str, float]:
    """When each path was last tested, by the gate's own clock."""
    paths = json.loads(gate.get("/v1/paths"))
    return {f"{one['client']}>{one['server']}": one["oldest"] for one in paths if one["oldest"]}


def all_tested_after(gate: Served, since: dict[str, float]) -> bool:
    now = results_of(gate)
    return all(now.get(target, 0.0) > since.get(target, 0.0) for target in TARGETS)


def deferred(node: Served) -> list[str]:
    return [line for line in node.get("/metrics").decode().splitlines() if line.startswith("rdma_gate_tests_deferred")]


def outstanding(node: Served) -> bool:
    line = f'rdma_gate_tests_outstanding{{node="{node.settings["node"]}"}} 1.0'
    return line.encode() in node.get("/metrics")


def start_check(gate: Served) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        gate.command("check", "--path", *NODES, "--json"),
        cwd=REPOSITORY,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def answered(check: "subprocess.Popen[str]") -> list[tuple[str, str]]:
    out, said = check.communicate(timeout=CHECK_LIMIT_SECONDS)
    assert out.startswith("["), said
    return [(run["outcome"], run["findings"][0]["reason"]) for run in json.loads(out)]


def test_two_people_and_a_gate_that_never_rests_all_have_their_turns(lab):
    gate = lab.gate("gate").start()
    gate.until(lambda: all_tested_after(gate, {}))
    before = results_of(gate)
    checks = [start_check(gate) for _ in range(2)]
    assert [answered(check) for check in checks] == [[("done", "no_target")] * 4] * 2
    gate.until(lambda: all_tested_after(gate, before))
    assert [deferred(node) for node in lab.nodes.values()] == [[], []]


def test_the_slots_of_a_person_who_vanished_in_the_middle_are_free_again(lab):
    lab.behaviour.write_text("hang")
    gate = lab.gate("gate")
    check = start_check(gate)
    for node in lab.nodes.values():
        node.until(lambda node=node: outstanding(node))
    check.kill()
    check.communicate()
    lab.behaviour.write_text("good")
    gate.start()
    gate.until(lambda: all_tested_after(gate, {}))
