"""After a failure each of its ends is tested with somebody else at once, until it is told which one is to blame."""

from dataclasses import replace

from exporter.evidence import EvidenceStore
from exporter.fabric.expected import Mode, PathEnd, expected_paths
from exporter.fabric.outlook import Situation
from exporter.fabric.rounds import Fabric, Result
from exporter.fabric.witnesses import witnesses
from exporter.ledger import Ledger
from exporter.plan import Nodes
from exporter.settings import KnownMember
from probes import Finding, Run, Status, Subject
from tests.exporter.fabric.test_outlook import NOW, PING, PLAN, POOL, READY, outlook

PATHS = expected_paths([PathEnd(node, "rxe0", "0") for node in "abcd"], {"same_rail": Mode("every_pair")})
PASSED = {path.target: Result(NOW - 60 - number, Status.PASS) for number, path in enumerate(PATHS)}
ALL_THREE = [f"{one}:rxe0>{other}:rxe0" for one in "abc" for other in "abc" if one != other]


def failed(*paths: str, at: float = NOW) -> dict[str, Result]:
    return {f"{one}:rxe0>{other}:rxe0": Result(at, Status.FAIL, "no_completion") for one, other in paths}


def run_of(target: str, status: Status) -> Run:
    finding = Finding(Subject(target[0]), status, "", "as planned")
    return Run(PING.probe, PING.id, target, "host", (finding,), NOW, NOW, "d", "boot", "0.1")


def test_while_all_pass_there_are_none():
    assert witnesses(PATHS, PASSED) == frozenset()


def test_each_end_of_a_failing_path_is_tested_with_the_peer_that_waited_longest():
    assert witnesses(PATHS, PASSED | failed("ab")) == {"d:rxe0>a:rxe0", "d:rxe0>b:rxe0"}


def test_an_end_that_was_tested_with_somebody_else_since_needs_none():
    since = {"a:rxe0>c:rxe0": Result(NOW + 1, Status.PASS)}
    assert witnesses(PATHS, PASSED | failed("ab") | since) == {"d:rxe0>b:rxe0"}


def test_once_the_blame_is_told_there_are_none():
    assert witnesses(PATHS, PASSED | failed("ab") | failed("cb", at=NOW - 30)) == frozenset()


def test_two_nodes_alone_have_no_witness():
    assert witnesses([path for path in PATHS if path.nodes == set("ab")], PASSED | failed("ab")) == frozenset()


def test_a_path_that_must_wait_is_no_witness():
    free = [path for path in PATHS if "d" not in path.nodes]
    assert witnesses(free, PASSED | failed("ab")) == {"c:rxe0>a:rxe0", "c:rxe0>b:rxe0"}


def test_a_witness_is_due_before_its_interval_and_ahead_of_the_failure_itself():
    clock = [NOW - 20]
    ledger = Ledger(None, EvidenceStore(None), lambda: clock[0])
    for target in ALL_THREE:
        ledger.put(run_of(target, Status.PASS))
    clock[0] = NOW
    ledger.put(run_of(ALL_THREE[0], Status.FAIL))
    members = tuple(KnownMember(node) for node in "abc")
    looked = outlook(ledger, NOW + 1)
    plan = replace(PLAN, pools=(replace(POOL, nodes=Nodes(("a", "b", "c"))),))
    looked = replace(looked, plan=plan, situation=Situation(plan, members, dict.fromkeys("abc", READY)))
    (waiting,) = looked.waiting(frozenset())
    assert [path.target for path in waiting.paths] == ["a:rxe0>c:rxe0", "b:rxe0>c:rxe0"]
    assert waiting.next(Fabric(frozenset(), 0, 1, {})).path.target == "a:rxe0>c:rxe0"
    (without_c,) = replace(looked, situation=replace(looked.situation, unready={"c": "silent"})).waiting(frozenset())
    assert without_c.paths == ()
