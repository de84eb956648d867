"""What failed on a node's paths before the node came to stand again is tested at once, and nothing else."""

from dataclasses import replace

from exporter.evidence import EvidenceStore
from exporter.fabric.outlook import Situation
from exporter.fabric.recoveries import Recoveries, worth_another_look
from exporter.fabric.rounds import Result
from exporter.ledger import Ledger
from exporter.plan import Nodes
from exporter.settings import KnownMember
from probes import Status
from tests.exporter.fabric.test_outlook import NOW, PLAN, POOL, READY, outlook
from tests.exporter.fabric.test_witnesses import run_of

OPEN = {"access", "runtime", "placement"}


def test_a_node_recovers_when_the_checks_of_an_end_have_become_open():
    recoveries = Recoveries()
    recoveries.follow({"a": OPEN, "b": {"access"}}, 10.0)
    recoveries.follow({"a": OPEN, "b": OPEN}, 20.0)
    assert recoveries.at == {"a": 10.0, "b": 20.0}
    recoveries.follow({"a": {"runtime"}, "b": OPEN}, 30.0)
    assert recoveries.at == {"a": 10.0, "b": 20.0}
    recoveries.follow({"a": OPEN, "b": OPEN}, 40.0)
    assert recoveries.at == {"a": 40.0, "b": 20.0}


def test_only_what_did_not_pass_before_the_recovery_of_one_of_its_ends_is_looked_at_again():
    results = {
        "a:x>b:x": Result(5.0, Status.FAIL, "port_down"),
        "b:x>a:x": Result(5.0, Status.UNKNOWN, "control_tcp"),
        "c:x>a:x": Result(5.0, Status.PASS),
        "a:x>c:x": Result(15.0, Status.FAIL, "missed_target"),
        "b:x>c:x": Result(5.0, Status.FAIL, "port_down"),
    }
    assert worth_another_look(results, {"a": 10.0}) == {"a:x>b:x", "b:x>a:x"}


def test_such_a_path_is_due_before_its_interval():
    ledger = Ledger(None, EvidenceStore(None), lambda: NOW)
    ledger.put(run_of("a:rxe0>b:rxe0", Status.FAIL))
    ledger.put(run_of("b:rxe0>a:rxe0", Status.PASS))
    members = tuple(KnownMember(node) for node in "ab")
    plan = replace(PLAN, pools=(replace(POOL, nodes=Nodes(("a", "b"))),))
    situation = Situation(plan, members, dict.fromkeys("ab", READY))
    looked = replace(outlook(ledger, NOW + 2), plan=plan, situation=situation)
    assert [path.target for path in looked.waiting(frozenset())[0].paths] == []
    after = replace(looked, situation=replace(situation, recovered={"b": NOW + 1}))
    assert [path.target for path in after.waiting(frozenset())[0].paths] == ["a:rxe0>b:rxe0"]
