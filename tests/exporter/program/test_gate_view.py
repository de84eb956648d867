"""The view says in words what the verdict says in codes, and leaves nothing out."""

from dataclasses import replace

from exporter import registry
from exporter.assignment import ProbeSpec
from exporter.gate.decide import decide
from exporter.gate.decisions import Decision, DecisionKind, Decisions, Scope
from exporter.gate.inputs import GateInputs, GateNode, MemberState
from exporter.gate.verdict import PathVerdict, Verdict
from exporter.ledger import Record
from exporter.plan import Nodes, Plan, Pool, Review
from exporter.program.gate_files import GateFiles
from exporter.program.gate_view import view_of
from exporter.program.reread import Reread
from exporter.settings import Settings
from exporter.view import EvidenceView, PathView
from probes import Evidence, Finding, Run, Status, Subject

NOW = 1_796_047_512.0
PORTS = ProbeSpec("access.ports", "access.ports", fresh_seconds=300.0)
EVIDENCE = Evidence("ibv_devinfo", "state: PORT_DOWN (1)", ("ibv_devinfo", "-d", "my hca"), 0, "ab" * 32, 20)
DOWN = Finding(
    Subject("gpu-001", "mlx5_0", "1"), Status.FAIL, "port_down", "mlx5_0/1: DOWN found, ACTIVE wanted",
    evidence=(EVIDENCE,),
)  # fmt: skip
DECIDED = Decision(
    "d1", DecisionKind.NOT_APPLICABLE, "runtime.gpudirect", Scope(pools=("h100",)), "ana", "platform", "bo",
    "no GPU", "none needed", NOW + 60,
)  # fmt: skip


def plan(**more) -> Plan:
    return Plan("lab", (Pool("h100", Nodes(("gpu-001",)), probes=(PORTS,)),), digest="3f" * 32, **more)


def verdict(used: Plan | None, *findings: Finding):
    run = Run("access.ports", "access.ports", "gpu-001", "host", findings, NOW - 2, NOW - 1, "3f" * 32, "b", "0.1.0")
    record = Record(1, NOW - 1, run, (), 300.0, "h100")
    nodes = (GateNode("gpu-001", "h100", MemberState.REACHABLE, NOW),)
    return decide(GateInputs(used, {record.key: record}, nodes, NOW, "0.1.0"))


def test_a_failed_check_is_shown_with_meaning_owner_evidence_and_its_command():
    used = plan(reviewed=Review("ana", "2026-11-30", "git:1"))
    view = view_of(verdict(used, DOWN), used)
    (node,) = view.pools[0].nodes
    cell = next(one for one in node.cells if one.check == "access")
    finding = next(one for one in cell.findings if one.reason == "port_down")
    assert (cell.status, view.is_open, node.state) == ("failed", False, "reachable")
    assert (finding.meaning, finding.owner) == (
        registry.reason_of("access.ports", "port_down").meaning,
        registry.owner_of("access.ports", "port_down").value,
    )
    assert finding.evidence == (
        EvidenceView("ibv_devinfo", "state: PORT_DOWN (1)", "ab" * 32, 20, "ibv_devinfo -d 'my hca'", 0),
    )
    assert finding.summary == "mlx5_0/1: DOWN found, ACTIVE wanted"


def test_the_plan_is_named_by_its_digest_and_its_review():
    used = plan(reviewed=Review("ana", "2026-11-30", "git:1"))
    assert view_of(verdict(used), used).plan == "plan 3f3f3f3f3f3f reviewed by ana on 2026-11-30"
    assert view_of(verdict(plan()), plan()).plan == "plan 3f3f3f3f3f3f not reviewed"
    assert view_of(verdict(None), None).plan == "no plan"


def test_all_seven_checks_are_columns_and_notes_stand_with_the_problems():
    view = view_of(verdict(plan()), plan(), ["plan: the file could not be used"])
    assert [check.number for check in view.checks] == [1, 2, 3, 4, 5, 6, 7]
    assert view.problems[-1] == "plan: the file could not be used"


def cell(view, word: str):
    return next(one for one in view.pools[0].nodes[0].cells if one.check == word)


def test_a_closed_check_has_the_reason_of_its_sentence_and_one_owner():
    used = plan(reviewed=Review("ana", "2026-11-30", "git:1"))
    missing = Finding(
        Subject("gpu-001", "mlx5_1", "1"), Status.FAIL, "device_missing", "mlx5_1/1: none found, one wanted"
    )
    found = cell(view_of(verdict(used, DOWN, missing), used), "access")
    assert (found.why.startswith(DOWN.summary), found.reason, found.owner) == (True, "port_down", "network")
    assert (found.lapses, found.valid_seconds) == (0.0, 0.0)
    nothing = cell(view_of(verdict(used, DOWN), used), "visibility")
    assert (nothing.status, nothing.reason, nothing.owner) == ("missing", "not_planned", "platform")


def test_paths_and_decisions_keep_the_labels_of_their_series():
    path = PathVerdict("a:d>b:d", "a:d", "b:d", "h100", "same_rail", "3", "pass", "", NOW - 60)
    everywhere = replace(DECIDED, id="d2", subject="visibility", scope=Scope())
    given = Verdict("lab", True, "open", NOW, "", paths=(path,), decisions=(DECIDED, everywhere))
    view = view_of(given, None)
    assert view.paths == (PathView("a:d", "b:d", "pass", "", NOW - 60, "h100", "same_rail", "3"),)
    assert [(one.id, one.check, one.pool) for one in view.decisions] == [
        ("d1", "runtime", "h100"),
        ("d2", "visibility", ""),
    ]


def test_a_file_is_usable_unless_any_of_it_was_refused(tmp_path):
    named = Settings("n", frozenset({"gate"}), "127.0.0.1", 0, tmp_path, plan=tmp_path, decisions=tmp_path)
    read = GateFiles(named)
    assert read.usable == {"plan": True, "decisions": True}
    nothing = replace(read, plan_problem="no such file", decisions=Decisions(refused=("d1: expired",)))
    assert nothing.usable == {"plan": False, "decisions": False}
    one_of_two = replace(read, decisions=Decisions(usable=(DECIDED,), refused=("d2: expired",)))
    assert one_of_two.usable == {"plan": True, "decisions": False}
    assert GateFiles(replace(named, plan=None, decisions=None)).usable == {}
    unread = replace(read, reread=Reread(lambda: named, problem="no such file"))
    assert unread.usable == {"plan": True, "decisions": True, "settings": False}
