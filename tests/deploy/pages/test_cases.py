"""Each row wants an alert that is shipped, with an owner and a severity that it has, in a time that it can keep."""

import pytest
import yaml

from alerts.lint import FILES
from alerts.lint.promql import seconds
from deploy.lab.faults import FAULTS
from deploy.pages.cases import CASES, chosen
from exporter import registry
from exporter.plan.cost import bytes_of_run, plan_cost
from exporter.plan.load import load_plan
from exporter.settings import KnownMember
from probes import Owner

RULES = {
    rule["alert"]: rule
    for file in FILES
    for group in yaml.safe_load(file.read_text())["groups"]
    for rule in group["rules"]
    if "alert" in rule
}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_wanted_alert_is_shipped_with_that_severity_and_an_owner_that_there_is(case):
    rule = RULES[case.wanted.alert]
    assert rule["labels"]["severity"] == case.wanted.severity
    assert case.wanted.owner in {rule["labels"].get("owner", case.wanted.owner)} & {one.value for one in Owner}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_limit_leaves_time_for_the_alerts_own_hold(case):
    assert seconds(RULES[case.wanted.alert]["for"]) < case.notice_limit_seconds


def test_a_node_is_named_in_tickets_alone():
    assert {bool(case.wanted.node) for case in CASES if case.wanted.severity == "critical"} == {False}
    assert {bool(case.wanted.node) for case in CASES if case.wanted.severity == "warning"} == {True}


def test_every_fault_is_one_of_the_labs_and_only_the_gates_end_is_none():
    assert {made.fault[0] for case in CASES for made in case.made} <= {fault.name for fault in FAULTS}
    assert [case.name for case in CASES if not case.made] == ["gate-stopped"]
    assert [case.name for case in CASES if case.sight is None] == ["gate-stopped"]


def test_all_rows_are_run_or_those_that_are_named():
    assert chosen([]) == CASES
    assert [case.name for case in chosen(["netem", "link-down"])] == ["link-down", "netem"]


def test_a_name_that_is_none_is_said_with_those_that_are():
    with pytest.raises(ValueError, match="--only: link-up found, some of link-down, drop-4791"):
        chosen(["link-up"])


def test_the_plan_is_usable_within_its_own_budget_and_has_a_node_to_spare():
    from deploy.pages.__main__ import PLAN
    from deploy.pages.spare_node import NAME

    plan = load_plan(PLAN)
    names = plan.pools[0].nodes.names
    cost = plan_cost(plan, [KnownMember(name) for name in names], lambda spec: bytes_of_run(registry.probes(), spec))
    assert (cost.problems, [one.nodes for one in cost.pools]) == ((), [3])
    assert NAME in names
    assert (plan.pools[0].nodes.at_least, plan.reviewed is not None) == (1, True)
