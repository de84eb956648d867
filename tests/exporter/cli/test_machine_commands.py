"""The commands that look at this machine: passive check, proposal, recording, pause and keys."""

import stat

import pytest

from exporter.keys import node_key

MISTAKEN = """\
cluster: lab
pools:
  - name: a
    nodes: {names: [x]}
    chekcs: {}
    checks: {access.prots: {}}
"""


def test_a_passive_check_needs_no_plan_and_passes_on_a_sound_machine(gate, config):
    said = gate("--config", config(), "check", "--passive", "--json")
    runs = said.json
    statuses = {(one["probe"], finding["status"]) for one in runs for finding in one["findings"]}
    assert (said.code, ("access.ports", "pass") in statuses) == (0, True), said.out
    assert gate("check", "--passive", "--config", config()).code == 0


def test_probes_that_judge_only_against_a_plan_are_named_and_are_no_failure_without_one(gate, config):
    said = gate("--config", config(), "check", "--passive", "--json")
    (line,) = [one for one in said.err.splitlines() if one.startswith("not planned, so not run: ")]
    named = {"access.attachments (needs networks)", "placement.policy (needs topology)"}
    assert named <= set(line.removeprefix("not planned, so not run: ").split(", "))
    ran = {one["probe"] for one in said.json}
    assert (said.code, ran & {"access.attachments", "placement.policy", "resources.allocation"}) == (0, set())


def test_a_proposed_plan_is_usable_and_unreviewed(gate, config, tmp_path):
    plan = tmp_path / "plan.yaml"
    said = gate("plan", "propose", "--config", config(), "--output", plan)
    assert (said.code, said.out) == (0, f"{plan}: proposed from 8 HCAs, not reviewed yet\n"), said.err
    checked = gate("plan", "check", plan, "--json")
    assert (checked.code, checked.json["usable"], checked.json["problems"]) == (0, True, [])
    assert checked.json["notes"][0].startswith("reviewed: not by, on and ref")
    again = gate("plan", "propose", "--config", config(), "--output", plan)
    assert (again.code, f"{plan}: File exists, a new file wanted" in again.err) == (64, True)


def test_a_plan_with_mistakes_is_exit_1_and_names_each(gate, tmp_path):
    plan = tmp_path / "plan.yaml"
    plan.write_text(
        "cluster: lab\npools:\n  - name: a\n    nodes: {names: [x]}\n    chekcs: {}\n    checks: {access.prots: {}}\n"
    )
    said = gate("plan", "check", plan, "--json")
    assert (said.code, said.json["usable"]) == (1, False)
    assert [word for word in ("chekcs", "access.prots") if word not in str(said.json["problems"])] == []
    assert gate("plan", "check", plan).code == 1


def test_a_recorded_machine_is_seen_as_the_machine_itself(gate, config, h100x8, tmp_path):
    copy = tmp_path / "copy"
    assert gate("record-host", copy, "--root", h100x8, "--anonymise").code == 0
    said = gate("--config", config(host_root=str(copy)), "check", "--passive", "--json")
    ports = next(one for one in said.json if one["probe"] == "access.ports")
    assert [finding["status"] for finding in ports["findings"]] == ["pass"] * 8
    assert gate("record-host", copy, "--root", h100x8).code == 64


def test_pausing_and_resuming_say_what_they_did(gate, config, tmp_path):
    path = config()
    paused = gate("--config", path, "pause")
    assert (paused.code, paused.out) == (0, f"tests paused by {tmp_path}/state/pause\n")
    assert gate("--config", path, "resume").out == "tests may run again\n"
    assert gate("--config", path, "resume").out == "tests were not paused\n"


def test_keys_are_made_once_readable_by_their_owner_alone_and_each_node_has_its_own(gate, tmp_path):
    master = tmp_path / "master.key"
    assert gate("key", master).code == 0
    assert stat.S_IMODE(master.stat().st_mode) == 0o600
    assert gate("key", master).code == 64
    keys = [gate("key", master, node).out.strip() for node in ("gpu-001", "gpu-002")]
    assert keys == [node_key(master.read_text().strip().encode(), node).hex() for node in ("gpu-001", "gpu-002")]


@pytest.mark.parametrize("text", ["", "short"])
def test_a_master_key_that_is_too_short_is_refused(gate, tmp_path, text):
    master = tmp_path / "master.key"
    master.write_text(text)
    said = gate("key", master, "gpu-001")
    assert (said.code, "at least 16 wanted" in said.err) == (64, True)


def test_a_machine_is_not_recorded_into_a_file(gate, tmp_path):
    file = tmp_path / "recorded"
    file.touch()
    said = gate("record-host", file)
    assert (said.code, f"{file}: Not a directory, a writable directory wanted" in said.err) == (64, True)
