"""A plan is used only when its own budget can satisfy it: else it would stay closed, or be open by old results."""

from collections.abc import Iterable
from functools import partial
from pathlib import Path

from exporter import registry
from exporter.plan import Plan, PlanError
from exporter.plan.cost import PlanCost, bytes_of_run, plan_cost
from exporter.plan.group_cost import group_costs
from exporter.plan.load import load_plan
from exporter.settings import KnownMember


def load_affordable_plan(path: Path, members: Iterable[KnownMember]) -> Plan:
    """Return the plan of that file. PlanError with its mistakes, or with what its budget does not allow."""
    plan = load_plan(path)
    if problems := cost_of(plan, members).problems:
        raise PlanError(problems)
    return plan


def cost_of(plan: Plan, members: Iterable[KnownMember]) -> PlanCost:
    """Return what the plan costs with the probes of this program, for the nodes that it has now."""
    modules = registry.probes()
    return plan_cost(plan, members, partial(bytes_of_run, modules), partial(group_costs, modules=modules))
