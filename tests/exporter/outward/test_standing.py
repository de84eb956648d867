"""The few words that Kubernetes has room for."""

from exporter.gate.verdict import CheckStatus
from exporter.outward.standing import Standing, camel_case, standings, stranger
from tests.exporter.outward.conftest import node_verdict, verdict


def test_a_reason_of_the_gate_becomes_one_of_kubernetes():
    assert [camel_case(one) for one in ("port_down", "no_plan", "maintenance")] == ["PortDown", "NoPlan", "Maintenance"]


def test_an_open_node_is_true():
    assert standings(verdict(node_verdict("a"))) == {"a": Standing("True", "AllChecksOpen", "a: 7 checks open")}


def test_a_failed_check_is_false_with_what_was_found_and_wanted():
    found = standings(verdict(node_verdict("a", "failed", "port_down")))
    assert found == {"a": Standing("False", "PortDown", "check access failed: a: port_down found, none wanted")}


def test_what_is_not_shown_is_unknown():
    for status in ("unknown", "missing", "stale", "blocked", "maintenance"):
        found = standings(verdict(node_verdict("a", status, "silent")))["a"]
        assert (found.status, found.reason) == ("Unknown", "Silent"), status


def test_a_node_whose_checks_all_pass_under_a_plan_without_review_is_unknown_for_that():
    closed = node_verdict("a")
    closed = type(closed)(closed.node, closed.pool, False, closed.state, closed.heard, closed.checks)
    found = standings(verdict(closed, blockers=(("plan_unreviewed", "plan: no review found, one wanted"),)))
    assert found == {"a": Standing("Unknown", "PlanUnreviewed", "plan: no review found, one wanted")}


def test_a_check_that_is_open_by_decision_is_said():
    found = standings(verdict(_decided()))["a"]
    assert found == Standing("True", "AllChecksOpen", "a: 7 checks open, visibility by decision")


def _decided():
    node = node_verdict("a")
    first = type(node.checks[0])("visibility", CheckStatus.NOT_APPLICABLE, "", ())
    return type(node)(node.node, node.pool, True, node.state, node.heard, (first, *node.checks[1:]))


def test_a_node_outside_the_plan_is_unknown_and_without_a_plan_for_want_of_one():
    assert stranger("x", verdict()).reason == "NotPlanned"
    assert stranger("x", verdict(blockers=(("no_plan", "plan: none found"),))).reason == "NoPlan"
