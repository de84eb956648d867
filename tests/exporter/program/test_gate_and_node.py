"""A gate and a node as two processes that share nothing but keys: work goes out, records come in, silence closes."""

import signal
import urllib.error

import pytest

from exporter.keys import node_key
from tests.exporter.program.conftest import PLAN

MASTER = "6d" * 32


@pytest.fixture
def node(prepare):
    served = prepare("gpu-001", roles=["node"], node_key_file="node.key")
    (served.folder / "node.key").write_text(node_key(MASTER.encode(), "gpu-001").hex())
    return served


@pytest.fixture
def gate(prepare, node):
    members = [{"name": "gpu-001", "url": node.url, "address": "192.0.2.1"}]
    served = prepare("gate", roles=["gate"], plan="plan.yaml", key_file="master.key", members=members)
    (served.folder / "plan.yaml").write_text(PLAN)
    (served.folder / "master.key").write_text(MASTER)
    return served


def test_a_node_is_given_its_work_is_missed_when_silent_and_is_back_when_it_speaks(gate, node):
    node.start()
    gate.start()
    gate.until(lambda: gate.status("gpu-001", "access") == "pass")
    planned = b'rdma_gate_findings{id="access.ports",node="gpu-001",pool="h100",probe="access.ports",status="pass"} 8.0'
    assert planned in node.get("/metrics")
    assert (node.folder / "state" / "assignment.json").exists()

    node.signal(signal.SIGSTOP)
    gate.until(lambda: gate.node("gpu-001")["state"] == "silent")
    assert gate.status("gpu-001", "access") == "missing"
    assert gate.gate()["is_open"] is False

    node.signal(signal.SIGCONT)
    gate.until(lambda: gate.node("gpu-001")["state"] == "reachable")
    gate.until(lambda: gate.status("gpu-001", "access") == "pass")


def test_a_restarted_node_works_on_at_once_and_is_followed_anew(gate, node):
    node.start()
    gate.start()
    gate.until(lambda: gate.status("gpu-001", "access") == "pass")
    node.signal(signal.SIGTERM)
    assert node.exit_code() == 0
    node.start()
    assert b'pool="h100"' in node.get("/metrics")
    heard = gate.node("gpu-001")["last_report"]
    gate.until(lambda: gate.node("gpu-001")["last_report"] > heard)
    assert gate.node("gpu-001")["state"] == "reachable"


def test_a_gate_with_another_key_is_refused_by_the_node_and_says_so(gate, node):
    (gate.folder / "master.key").write_text("7e" * 32)
    node.start()
    gate.start()
    gate.until(lambda: gate.node("gpu-001")["state"] == "refused")
    assert gate.status("gpu-001", "access") == "missing"
    assert not (node.folder / "state" / "assignment.json").exists()
    assert MASTER not in gate.log + node.log


def test_a_node_answers_nobody_who_does_not_sign(node):
    node.start()
    for path in ("/v1/records?after=0", "/v1/tests/x"):
        with pytest.raises(urllib.error.HTTPError, match="401"):
            node.get(path)


def test_a_changed_plan_reaches_the_node(gate, node):
    node.start()
    gate.start()
    gate.until(lambda: gate.status("gpu-001", "access") == "pass")
    (gate.folder / "plan.yaml").write_text(PLAN.replace("rate: 400Gbit/s", "rate: 800Gbit/s"))
    gate.signal(signal.SIGHUP)
    gate.until(lambda: gate.status("gpu-001", "access") == "failed")


def test_a_gate_alone_saves_what_it_knows_while_it_runs(gate, node):
    node.start()
    gate.start()
    ledger = gate.folder / "state" / "ledger.json"
    gate.until(lambda: b'"access.ports"' in ledger.read_bytes())


def test_a_gate_that_ends_while_its_node_hangs_still_ends(gate, node):
    node.start()
    gate.start()
    gate.until(lambda: gate.status("gpu-001", "access") == "pass")
    node.signal(signal.SIGSTOP)
    gate.signal(signal.SIGTERM)
    assert gate.exit_code() == 0, gate.log
