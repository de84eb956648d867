"""A plan is used only when its own budget can satisfy it: else it would stay closed, or be open by old results."""

from collections.abc import Iterable
from pathlib import Path

from exporter import registry
from exporter.plan import Plan, PlanError
from exporter.plan.cost import bytes_of_run, plan_cost
from exporter.plan.load import load_plan
from exporter.settings import KnownMember


def load_affordable_plan(path: Path, members: Iterable[KnownMember]) -> Plan:
    """Return the plan of that file. PlanError with its mistakes, or with what its budget does not allow."""
    plan, modules = load_plan(path), registry.probes()
    if problems := plan_cost(plan, members, lambda spec: bytes_of_run(modules, spec)).problems:
        raise PlanError(problems)
    return plan
