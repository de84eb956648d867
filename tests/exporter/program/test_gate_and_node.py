"""A gate and a node as two processes that share nothing but keys: work goes out, records come in, silence closes."""

import signal
import time
import urllib.error
import urllib.request

import pytest

from exporter.keys import Message, node_key, sign
from tests.exporter.program.conftest import PLAN

MASTER = "6d" * 32


@pytest.fixture
def node(prepare):
    served = prepare("gpu-001", roles=["node"], node_key_file="node.key")
    (served.folder / "node.key").write_text(node_key(MASTER.encode(), "gpu-001").hex())
    return served


def member(node):
    return {"name": node.settings["node"], "url": node.url, "address": "192.0.2.1"}


@pytest.fixture
def gate(prepare, node):
    return make_gate("gate", prepare, node)


def make_gate(name, prepare, *nodes):
    members = [member(node) for node in nodes]
    served = prepare(name, roles=["gate"], plan="plan.yaml", key_file="master.key", members=members)
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


def test_a_recorded_request_cannot_be_played_to_a_node_again_after_its_restart(node):
    node.start()
    first = signed_pause(node, epoch_of(node))
    assert answer_to(node, first) == 204
    assert answer_to(node, first) == 401
    node.signal(signal.SIGTERM)
    node.exit_code()
    node.start()
    assert answer_to(node, first) == 401
    assert answer_to(node, signed_pause(node, epoch_of(node))) == 204


def test_of_two_gates_the_second_is_refused_and_both_say_so_until_the_first_is_gone(gate, node, prepare):
    node.start()
    gate.start()
    gate.until(lambda: gate.status("gpu-001", "access") == "pass")
    second = make_gate("second", prepare, node)
    (second.folder / "plan.yaml").write_text(PLAN.replace("rate: 400Gbit/s", "rate: 800Gbit/s"))
    second.start()
    second.until(lambda: second.node("gpu-001")["state"] == "refused")
    first_id, second_id = ((one.folder / "state" / "gate-id").read_text().strip() for one in (gate, second))
    why = next(one["why"] for one in second.node("gpu-001")["cells"] if one["check"] == "access")
    assert f"gates {second_id} and {first_id} spoke" in why
    assert f"gates {second_id} and {first_id} spoke" in second.log
    node.until(lambda: b'rdma_gate_tests_deferred_total{node="gpu-001",reason="two_gates"}' in node.get("/metrics"))
    assert (gate.status("gpu-001", "access"), gate.node("gpu-001")["state"]) == ("pass", "reachable")

    gate.signal(signal.SIGKILL)
    gate.exit_code()
    second.until(lambda: second.status("gpu-001", "access") == "failed")
    assert f"gate {second_id} of term 1 speaks for it now" in node.log


def test_a_gate_that_is_started_again_is_no_second_one(gate, node):
    node.start()
    gate.start()
    gate.until(lambda: gate.status("gpu-001", "access") == "pass")
    gate.signal(signal.SIGKILL)
    gate.exit_code()
    gate.start()
    gate.until(lambda: gate.node("gpu-001")["state"] == "reachable")
    assert b"two_gates" not in node.get("/metrics")


def test_members_are_read_again_on_sighup_and_a_broken_file_keeps_the_old_ones(gate, node, prepare):
    node.start()
    gate.start()
    gate.until(lambda: gate.status("gpu-001", "access") == "pass")
    other = prepare("gpu-002", roles=["node"], node_key_file="node.key")
    (other.folder / "node.key").write_text(node_key(MASTER.encode(), "gpu-002").hex())
    other.start()
    (gate.folder / "plan.yaml").write_text(PLAN.replace("[gpu-001]", "[gpu-001, gpu-002]"))
    gate.settings["members"].append(member(other))
    gate.write_settings()
    gate.signal(signal.SIGHUP)
    gate.until(lambda: gate.status("gpu-002", "access") == "pass")
    assert f"members: gpu-002 came ({other.url})" in gate.log
    gate.until(lambda: usable(gate, "settings"))

    (gate.folder / "rdma-gate.yaml").write_text("members: [{name: gpu-001}]")
    gate.signal(signal.SIGHUP)
    gate.until(lambda: not usable(gate, "settings"))
    (problem,) = [one for one in gate.gate()["problems"] if one.startswith("settings: the file could not be used")]
    assert problem.endswith("url: absent, a value wanted), the list of members read before is still in force")
    assert [gate.status(name, "access") for name in ("gpu-001", "gpu-002")] == ["pass", "pass"]

    gate.settings["members"].pop(0)
    gate.write_settings()
    gate.signal(signal.SIGHUP)
    gate.until(lambda: gate.node("gpu-001")["state"] == "missing")
    assert f"members: gpu-001 went ({node.url})" in gate.log
    gate.until(lambda: usable(gate, "settings"))
    assert gate.status("gpu-002", "access") == "pass"


def usable(gate, file):
    line = f'rdma_gate_config_last_reload_successful{{file="{file}"}} 1.0'
    return line.encode() in gate.get("/metrics")


def epoch_of(node):
    with pytest.raises(urllib.error.HTTPError, match="401") as raised:
        node.get("/v1/records?after=-1")
    return raised.value.headers["RDMA-Gate-Epoch"]


def signed_pause(node, epoch):
    body = b'{"paused": false, "who": "ana"}'
    key = node_key(MASTER.encode(), "gpu-001")
    header = sign(key, Message("POST", "/v1/pause", body), time.time(), epoch=epoch)
    headers = {"Authorization": header, "Content-Type": "application/json"}
    return urllib.request.Request(f"{node.url}/v1/pause", data=body, headers=headers)


def answer_to(node, request):
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code
