"""What one moment says about paths is worked out once, and what ended meanwhile is not started again."""

from dataclasses import replace

import msgspec
import pytest

from exporter.assignment import Budget, ProbeSpec
from exporter.evidence import EvidenceStore
from exporter.fabric.expected import ExpectedPath, PathEnd
from exporter.fabric.last_results import ResultsByTest, connected_targets
from exporter.fabric.outlook import Outlook, Situation, Waiting
from exporter.fabric.rounds import Cycle, Fabric, Result
from exporter.fabric.samples import Samples
from exporter.ledger import Ledger
from exporter.plan import Nodes, PathMode, Plan, Pool, Review
from exporter.plan.digest_of_test import digest_of_test
from exporter.settings import KnownMember
from probes import Finding, Run, Status, Subject
from probes._targets import Target

NOW = 1_800_000_000.0
PING = ProbeSpec("connectivity.ping_pong", "ping", {"hcas": {"name": "c", "devices": ["rxe0"]}}, every_seconds=60.0)
POOL = Pool("h100", Nodes(("a", "b")), tests=(PING,))
PLAN = Plan(
    "lab", (POOL,), {"same_rail": PathMode("every_pair")}, Budget(tests_enabled=True), Review("a", "b", "c"), digest="d"
)
READY = frozenset({"access", "runtime"})
SITUATION = Situation(PLAN, (KnownMember("a"), KnownMember("b")), {"a": READY, "b": READY})
AB, BA = (
    ExpectedPath(PathEnd(one, "rxe0", "0", "h100"), PathEnd(other, "rxe0", "0", "h100"), "same_rail")
    for one, other in ("ab", "ba")
)


def ledger_of(*runs: tuple[str, Status, str]) -> Ledger:
    ledger = Ledger(None, EvidenceStore(None), lambda: NOW)
    for target, status, digest in runs:
        finding = Finding(Subject(target[0]), status, "", "as planned")
        ledger.put(Run(PING.probe, PING.id, target, "host", (finding,), NOW, NOW, digest, "boot", "0.1"))
    return ledger


def outlook(ledger: Ledger, now: float = NOW) -> Outlook:
    records = ledger.latest()
    return Outlook(PLAN, SITUATION, records, ResultsByTest().of(records), Cycle(0, NOW - 100), now, Samples())


def test_results_are_sorted_out_by_test_and_host_runs_are_none_of_them():
    ledger = ledger_of((AB.target, Status.PASS, "d"), (BA.target, Status.FAIL, "other"))
    ledger.put(Run("access.ports", "ports", "a", "host", (), NOW, NOW, "d", "boot", "0.1"))
    results = ResultsByTest().of(ledger.latest())
    assert results == {
        (PING.probe, PING.id): {
            AB.target: (Result(NOW, Status.PASS), ledger.get((PING.probe, PING.id, AB.target))),
            BA.target: (Result(NOW, Status.FAIL), ledger.get((PING.probe, PING.id, BA.target))),
        }
    }
    assert connected_targets(results) == {AB.target}


def test_a_newer_run_of_a_path_replaces_what_was_known_of_it():
    ledger, results = ledger_of((AB.target, Status.PASS, "d")), ResultsByTest()
    results.of(ledger.latest())
    failed = Finding(Subject("a"), Status.FAIL, "x", "y")
    newer = ledger.put(Run(PING.probe, PING.id, AB.target, "host", (failed,), NOW, NOW, "d", "boot", "0.1"))
    assert results.of(ledger.latest())[PING.probe, PING.id][AB.target] == (Result(NOW, Status.FAIL, "x"), newer)


def test_what_was_never_tested_under_this_plan_waits_and_what_passed_does_not():
    looked = outlook(ledger_of((AB.target, Status.PASS, "d"), (BA.target, Status.PASS, "another plan")))
    assert [one.paths for one in looked.waiting(frozenset())] == [(BA,)]
    assert [one.paths for one in looked.waiting(frozenset({("ping", BA.target)}))] == [()]


@pytest.mark.parametrize(
    ("edit", "due"),
    [
        ({"every_seconds": 70.0}, ()),
        ({"fresh_seconds": 500.0}, ()),
        ({"limit_seconds": 20.0}, (AB, BA)),
        ({"settings": {"hcas": {"name": "c", "devices": ["rxe0"], "any_namespace": True}}}, (AB, BA)),
        ({"targets": (Target("bandwidth", at_least=1.0, source="ana"),)}, (AB, BA)),
    ],
)
def test_a_path_is_due_at_once_after_an_edit_of_its_own_test_and_not_after_one_beside_it(edit, due):
    ledger = Ledger(None, EvidenceStore(None), lambda: NOW)
    for path in (AB, BA):
        passed = Finding(Subject(path.target[0]), Status.PASS, "", "as planned")
        run = Run(PING.probe, PING.id, path.target, "host", (passed,), NOW, NOW, "d", "boot", "0.1")
        ledger.put(run, planned_as=digest_of_test(POOL, PING))
    edited = replace(POOL, tests=(msgspec.structs.replace(PING, **edit),))
    looked = replace(outlook(ledger), plan=replace(PLAN, pools=(edited,), digest="edited"))
    assert [one.paths for one in looked.waiting(frozenset())] == [due]


def test_a_result_that_a_change_made_stale_is_due():
    looked = outlook(ledger_of((AB.target, Status.PASS, "d"), (BA.target, Status.PASS, "d")))
    changed = replace(looked, situation=replace(SITUATION, changed={"a": NOW + 1}))
    assert [[one.paths for one in each.waiting(frozenset())] for each in (looked, changed)] == [[()], [(AB, BA)]]


def test_what_ended_since_is_not_chosen_again():
    waiting = Waiting(POOL, PING, (AB, BA), {}, NOW)
    idle = Fabric(frozenset(), 0, 1, {})
    assert waiting.next(idle).path == AB
    assert waiting.without({("ping", AB.target)}).next(idle).path == BA
    assert waiting.without({("ping", AB.target), ("ping", BA.target)}).next(idle) is None
