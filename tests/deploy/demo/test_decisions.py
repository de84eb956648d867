"""The demo's five decisions are accepted by the gate itself, cover what two bare machines cannot show, and expire."""

from pathlib import Path

from deploy.demo.decisions import LASTS, SUBJECTS, decisions_text
from exporter import registry
from exporter.gate.decisions import load_decisions

NOW = 1_796_047_512.0
PROBES = frozenset(name for check in registry.checks().values() for name in check.required)


def accepted(folder: Path, now: float):
    file = folder / "decisions.yaml"
    file.write_text(decisions_text(NOW))
    return load_decisions(file, PROBES | frozenset(registry.probes()), now)


def test_the_gate_accepts_all_five(tmp_path):
    found = accepted(tmp_path, NOW)
    assert found.refused == ()
    assert {one.id: one.subject for one in found.usable} == {
        "demo-visibility": "visibility",
        "demo-resources": "resources",
        "demo-placement": "placement",
        "demo-gpudirect": "runtime.gpudirect",
        "demo-collectives": "transfers.collectives",
    }


def test_each_is_asked_for_and_approved_by_different_people(tmp_path):
    assert [one.id for one in accepted(tmp_path, NOW).usable if one.requester == one.approver] == []


def test_they_are_gone_after_their_time(tmp_path):
    assert len(accepted(tmp_path, NOW + LASTS.total_seconds() - 60).usable) == len(SUBJECTS)
    assert accepted(tmp_path, NOW + LASTS.total_seconds() + 60).usable == ()
