"""The node role takes over its own assignments only, keeps the last on disk, and works on with it."""

import logging
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from exporter.assignment import Assignment, Budget, Claim, ProbeSpec
from exporter.clock import SystemClock
from exporter.evidence import EvidenceStore
from exporter.ledger import Ledger
from exporter.program.node import NodeRole, run_context
from exporter.settings import Settings
from probes._endpoint import Refused

PORTS = ProbeSpec("access.ports", "access.ports", {"hcas": {"name": "hca"}}, every_seconds=60.0)
GIDS = ProbeSpec("access.gids", "access.gids", {"hcas": {"name": "hca"}}, every_seconds=60.0)
WORK = Assignment("lab", "gpu-001", "h100", "digest-1", reviewed=True, term=3, gate="g1", probes=(PORTS, GIDS))


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings("gpu-001", frozenset({"node"}), "127.0.0.1", 0, tmp_path / "state", host_root=tmp_path)


def role(settings: Settings) -> NodeRole:
    clock = SystemClock()
    return NodeRole(settings, Ledger(None, EvidenceStore(None), clock.now), clock, {})


def test_without_an_assignment_on_disk_there_is_none(settings):
    assert role(settings).assignment is None


def test_an_assignment_is_taken_over_and_survives_a_restart(settings):
    role(settings).assign(WORK)
    assert role(settings).assignment == WORK


def test_a_withdrawn_assignment_is_gone_after_a_restart_too(settings):
    node = role(settings)
    node.assign(WORK)
    node.withdraw()
    assert (node.assignment, role(settings).assignment) == (None, None)


def test_a_node_that_the_plan_leaves_out_works_without_it(settings):
    node = role(settings)
    node.follow(WORK, Claim("g1", 3))
    assert node.assignment == WORK
    node.follow(None, Claim("g1", 3))
    assert node.assignment is None


def test_an_assignment_of_another_node_or_of_an_older_term_is_refused(settings):
    node = role(settings)
    node.assign(WORK)
    with pytest.raises(ValueError, match="assignment: for gpu-002, gpu-001 wanted"):
        node.assign(msgspec.structs.replace(WORK, node="gpu-002"))
    with pytest.raises(Refused, match="gate g1 of term 2 found, at least 3 wanted"):
        node.assign(msgspec.structs.replace(WORK, term=2))
    assert node.assignment == WORK


def test_a_second_gate_of_the_same_term_hands_out_nothing(settings):
    node = role(settings)
    node.assign(WORK)
    with pytest.raises(Refused, match="gates g2 and g1 spoke 0 s ago, both of term 3"):
        node.assign(msgspec.structs.replace(WORK, gate="g2", plan_digest="digest-2"))
    assert node.assignment == WORK


def test_a_person_beside_a_gate_needs_its_plan_and_changes_nothing(settings):
    node = role(settings)
    node.assign(WORK)
    node.assign(msgspec.structs.replace(WORK, gate="", term=0))
    with pytest.raises(Refused, match=r"gpu-001: plan digest-2 found, that of gate g1 wanted \(digest-1\)"):
        node.assign(msgspec.structs.replace(WORK, gate="", term=0, plan_digest="digest-2"))
    assert node.assignment == WORK


def test_where_no_gate_speaks_a_person_hands_out_the_work_without_a_term_of_their_own(settings):
    role(settings).assign(WORK)
    node = role(settings)
    node.assign(msgspec.structs.replace(WORK, gate="", term=0, plan_digest="digest-2"))
    assert node.assignment == msgspec.structs.replace(WORK, gate="", plan_digest="digest-2")


def test_an_assignment_on_disk_that_is_anothers_or_unreadable_counts_as_none(settings, caplog):
    file = settings.state_dir / "assignment.json"
    file.parent.mkdir()
    file.write_bytes(msgspec.json.encode(msgspec.structs.replace(WORK, node="gpu-002")))
    assert role(settings).assignment is None
    file.write_bytes(b'{"cluster": ')
    with caplog.at_level(logging.WARNING):
        assert role(settings).assignment is None
    assert "passive probes run without a plan until the gate speaks" in caplog.text


def test_this_machines_own_intervals_hold_also_for_an_assignment_from_disk(settings):
    settings = replace(settings, every_seconds={"access.ports": 10.0})
    node = role(settings)
    node.assign(WORK)
    assert [spec.every_seconds for spec in node.assignment.probes] == [10.0, 60.0]
    assert [spec.every_seconds for spec in role(settings).assignment.probes] == [10.0, 60.0]


def test_a_longer_interval_of_this_machine_is_cut_where_results_would_grow_stale_before_the_next(settings):
    node = role(replace(settings, every_seconds={"access.ports": 3600.0}))
    node.assign(WORK)
    ports, gids = node.assignment.probes
    assert (ports.every_seconds, gids.every_seconds) == (PORTS.fresh_seconds - PORTS.limit_seconds, 60.0)


def test_the_same_assignment_again_is_not_written_again(settings):
    node = role(replace(settings, every_seconds={"access.ports": 10.0}))
    node.assign(WORK)
    (settings.state_dir / "assignment.json").unlink()
    node.assign(WORK)
    assert not (settings.state_dir / "assignment.json").exists()


def test_pausing_leaves_a_file_that_outlives_the_process(settings, tmp_path):
    settings = replace(settings, pause_file=tmp_path / "pause")
    node = role(settings)
    node.pause(True, "ana")
    assert role(settings).cost().paused == {"node": True}
    node.pause(False, "ana")
    assert node.cost().paused == {"node": False}
    assert not (tmp_path / "pause").exists()


def test_its_cost_is_counted_against_the_budget_of_its_assignment(settings):
    node = role(settings)
    node.assign(msgspec.structs.replace(WORK, budget=Budget(bytes_per_node_per_hour=2**30)))
    cost = node.cost()
    assert (cost.budget_bytes, cost.budget_left_bytes, cost.outstanding, dict(cost.deferrals)) == (2**30, None, 0, {})


def test_every_run_carries_the_boot_id_and_the_node(settings, tmp_path):
    boot = tmp_path / "proc/sys/kernel/random/boot_id"
    boot.parent.mkdir(parents=True)
    boot.write_text("6b1c7d9e\n")
    context = run_context(settings)
    assert (context.node, context.vantage, context.boot_id) == ("gpu-001", "host", "6b1c7d9e")
