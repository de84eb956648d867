"""The examples that people start from are right, with the probes that there are."""

from pathlib import Path

import pytest

from exporter import registry
from exporter.gate.decisions import load_decisions
from exporter.gate.uk_time import parse_time
from exporter.plan.cost import bytes_of_run, plan_cost
from exporter.plan.load import load_plan
from exporter.plan.membership import membership_problems
from exporter.settings import Environment
from exporter.settings_file import load_settings

EXAMPLES = Path(__file__).parents[3] / "deploy" / "examples"
NOW = parse_time("30/11/2026 12:00")


@pytest.fixture
def settings():
    return load_settings(EXAMPLES / "rdma-gate.yaml", Environment({}, "gpu-001", is_root=True))


def test_the_plan_is_read_fits_the_settings_and_can_be_paid(settings):
    plan = load_plan(EXAMPLES / "plan.yaml")
    modules = registry.probes()
    assert (plan.reviewed, plan.budget.tests_enabled) == (None, False)
    assert list(membership_problems(plan, settings.members)) == []
    assert plan_cost(plan, settings.members, lambda spec: bytes_of_run(modules, spec)).problems == ()


def test_the_settings_name_the_other_examples(settings):
    assert (settings.plan, settings.decisions) == (EXAMPLES / "plan.yaml", EXAMPLES / "decisions.yaml")


def test_the_decisions_count():
    required = [probe for check in registry.checks().values() for probe in check.required]
    decisions = load_decisions(EXAMPLES / "decisions.yaml", required, NOW)
    assert ([one.id for one in decisions.usable], decisions.refused) == (
        ["no-device-plugin", "no-kubernetes-pods", "riser-gpu-002"],
        (),
    )
