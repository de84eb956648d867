"""What a process with these settings would do, in sentences, before it does it."""

from collections.abc import Iterator

from exporter import registry
from exporter.plan import Plan, PlanError
from exporter.plan.cost import bytes_of_run, plan_cost
from exporter.plan.load import load_plan
from exporter.settings import Settings


def dry_run_lines(settings: Settings) -> Iterator[str]:
    """Yield what would be listened on, probed and sent."""
    yield f"roles {' and '.join(sorted(settings.roles))}, listening on {settings.host}:{settings.port}"
    yield f"state in {settings.state_dir}"
    if settings.plan is None:
        yield "no plan: passive probes only, nothing is sent, and the gate is closed with the reason no_plan"
        return
    try:
        plan = load_plan(settings.plan)
    except PlanError as error:
        yield from (f"{settings.plan}: {line}" for line in error.lines)
        return
    yield from plan_lines(plan, settings)


def plan_lines(plan: Plan, settings: Settings) -> Iterator[str]:
    """Yield what the tests of the plan would send, or why none would run."""
    if plan.reviewed is None or not plan.budget.tests_enabled:
        yield "no tests: the plan needs reviewed (by, on, ref) and budget.tests_enabled"
        return
    modules = registry.probes()
    for pool in plan.pools:
        for spec in pool.tests:
            sent = bytes_of_run(modules, spec)
            size = "unknown" if sent is None else f"{sent:,}"
            yield f"{pool.name} {spec.id}: {size} bytes a run and path, every {spec.every_seconds:g} s"
    cost = plan_cost(plan, settings.members, lambda spec: bytes_of_run(modules, spec))
    yield from (f"refused: {problem}" for problem in cost.problems)
    for one in cost.pools:
        yield (
            f"{one.pool}: {one.nodes} nodes, {one.paths} paths a cycle, "
            f"{one.bytes_per_node_per_hour:,.0f} bytes a node and hour, "
            f"{one.hours_to_full_coverage:.3g} hours to full coverage"
        )
