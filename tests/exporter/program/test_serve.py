"""``rdma-gate serve`` as a process of its own, from its start to its last signal."""

import signal
import subprocess
import time
import urllib.error

import pytest

from tests.exporter.program.conftest import PLAN, alive, children

BROKEN_PLAN = PLAN.replace("rate: 400Gbit/s", "rate: 400")


def refused(served) -> tuple[int, str]:
    done = subprocess.run(served.command("serve"), check=False, capture_output=True, text=True, timeout=60)
    return done.returncode, done.stderr


def unusable(served) -> list[str]:
    return [one for one in served.gate()["problems"] if one.startswith("plan: the file could not be used")]


def planned(prepare, plan: str = PLAN, **settings):
    served = prepare(plan="plan.yaml", **settings)
    (served.folder / "plan.yaml").write_text(plan)
    return served


def test_the_node_role_alone_shows_what_its_machine_has_and_has_no_gate(prepare):
    served = prepare(roles=["node"]).start()
    passed = b'rdma_gate_findings{id="access.ports",node="gpu-001",pool="",probe="access.ports",status="pass"} 8.0'
    served.until(lambda: passed in served.get("/metrics"))
    with pytest.raises(urllib.error.HTTPError, match="404"):
        served.gate()


def test_both_roles_judge_this_machine_against_a_reviewed_plan_of_one_node(prepare):
    served = planned(prepare).start()
    served.until(lambda: served.status("gpu-001", "access") == "pass")
    gate = served.gate()
    assert (gate["cluster"], gate["is_open"]) == ("lab", False)
    assert gate["plan"].endswith("reviewed by ana on 2026-11-30")
    assert served.status("gpu-001", "transfers") == "missing"
    assert b'rdma_gate_check_ok{check="access",node="gpu-001",pool="h100"} 1.0' in served.get("/metrics")


def test_without_a_plan_the_gate_is_closed_and_says_so(prepare):
    served = prepare().start()
    gate = served.gate()
    assert (gate["is_open"], gate["pools"]) == (False, [])
    assert "plan" in gate["banner"]


def test_a_broken_plan_keeps_the_old_one_and_the_page_says_so_until_it_is_mended(prepare):
    served = planned(prepare).start()
    served.until(lambda: served.status("gpu-001", "access") == "pass")
    before = served.gate()["plan"]
    (served.folder / "plan.yaml").write_text(BROKEN_PLAN)
    served.signal(signal.SIGHUP)
    served.until(lambda: unusable(served))
    (problem,) = unusable(served)
    assert "rate" in problem
    assert problem.endswith("the plan read before is still in force")
    assert problem.encode().partition(b"(")[0] in served.get("/gate")
    assert (served.gate()["plan"], served.status("gpu-001", "access")) == (before, "pass")
    (served.folder / "plan.yaml").write_text(PLAN)
    served.signal(signal.SIGHUP)
    served.until(lambda: not unusable(served))


def test_a_changed_plan_takes_effect_on_sighup(prepare):
    served = planned(prepare).start()
    served.until(lambda: served.status("gpu-001", "access") == "pass")
    (served.folder / "plan.yaml").write_text(PLAN.replace("rate: 400Gbit/s", "rate: 800Gbit/s"))
    served.signal(signal.SIGHUP)
    served.until(lambda: served.status("gpu-001", "access") == "failed")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_with_exit_0_a_saved_ledger_and_no_child(prepare, number):
    served = planned(prepare).start()
    served.until(lambda: served.status("gpu-001", "access") == "pass")
    below = children(served.process.pid)
    began = time.monotonic()
    served.signal(number)
    assert served.exit_code() == 0, served.log
    print(f"{number.name}: ended in {time.monotonic() - began:.2f} s")
    assert [pid for pid in below if alive(pid)] == []
    assert b"access.ports" in (served.folder / "state" / "ledger.json").read_bytes()


def test_what_was_measured_before_a_restart_is_known_at_once_after_it(prepare):
    served = planned(prepare, plan=PLAN.replace("every: 2s", "every: 10m")).start()
    served.until(lambda: served.status("gpu-001", "access") == "pass")
    served.signal(signal.SIGTERM)
    served.exit_code()
    served.start()
    assert served.status("gpu-001", "access") == "pass"


def test_a_second_process_on_the_same_state_is_refused_by_one_sentence(prepare):
    first = prepare(roles=["node"]).start()
    second = prepare("other", roles=["node"], state_dir=str(first.folder / "state"))
    code, said = refused(second)
    assert code == 64
    assert f"state_dir: {first.folder}/state is in use by another rdma-gate, one of its own wanted" in said
    assert "Traceback" not in said


def test_a_port_that_is_taken_is_refused_by_one_sentence(prepare):
    first = prepare(roles=["node"]).start()
    code, said = refused(prepare("other", roles=["node"], listen=first.settings["listen"]))
    assert (code, "Traceback" in said) == (64, False)
    assert "listen: " in said
    assert "a free address wanted" in said


@pytest.mark.parametrize(
    ("settings", "wanted"),
    [
        ({"listen": "0.0.0.0:0"}, "listen_publicly: true wanted as well"),
        ({"listen": "0.0.0.0:0", "listen_publicly": True}, "without a key, key_file or node_key_file wanted"),
        ({"key_file": "absent.key"}, "absent.key"),
        ({"state_dir": "/proc/nowhere"}, "state_dir: "),
    ],
)
def test_settings_that_cannot_be_used_are_refused_with_exit_64(prepare, settings, wanted):
    code, said = refused(prepare(roles=["node"], **settings))
    assert (code, "Traceback" in said) == (64, False), said
    assert wanted in said


def test_a_dry_run_says_what_would_be_served_and_starts_nothing(prepare):
    served = planned(prepare)
    command = served.command("serve", "--dry-run")
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout.splitlines()) == (
        0,
        [
            f"roles gate and node, listening on 127.0.0.1:{served.port}",
            f"state in {served.folder}/state",
            "no tests: the plan needs reviewed (by, on, ref) and budget.tests_enabled",
        ],
    )
    assert not (served.folder / "state").exists()
