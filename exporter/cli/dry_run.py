"""What a process with these settings would do, in sentences, before it does it."""

from collections.abc import Iterator, Mapping

from exporter import registry
from exporter.plan import Plan, PlanError, Pool
from exporter.plan.affordable import cost_of
from exporter.plan.cost import bytes_of_run
from exporter.plan.group_cost import group_cost, group_shape
from exporter.plan.load import load_plan
from exporter.plan.membership import pool_nodes
from exporter.registry import ProbeModule
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
    nodes = pool_nodes(plan, settings.members)
    for pool in plan.pools:
        for spec in pool.tests:
            sent = bytes_of_run(modules, spec)
            size = "unknown" if sent is None else f"{sent:,}"
            yield f"{pool.name} {spec.id}: {size} bytes a run and path, every {spec.every_seconds:g} s"
        yield from _group_lines(pool, len(nodes[pool.name]), modules)
    cost = cost_of(plan, settings.members)
    yield from (f"refused: {problem}" for problem in cost.problems)
    for one in cost.pools:
        yield (
            f"{one.pool}: {one.nodes} nodes, {one.paths} paths a cycle, "
            f"{one.bytes_per_node_per_hour:,.0f} bytes a node and hour, "
            f"{one.gpu_seconds_per_hour:,.0f} GPU seconds an hour, "
            f"{one.hours_to_full_coverage:.3g} hours to full coverage"
        )


def _group_lines(pool: Pool, nodes: int, modules: Mapping[str, ProbeModule]) -> Iterator[str]:
    for test in pool.group_tests:
        shape, cost = group_shape(test, nodes), group_cost(test, nodes, modules)
        size = "unknown" if cost.run_bytes is None else f"{cost.run_bytes:,}"
        yield (
            f"{pool.name} {test.spec.id}: {shape.groups} groups of at most {shape.largest} nodes, "
            f"{test.groups.ranks_per_node} GPUs each, {size} bytes a run and node, every {test.spec.every_seconds:g} s"
        )
