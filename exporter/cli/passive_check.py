"""All passive probes of this machine, once, at the same time: nothing is sent and nothing changed."""

import asyncio
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields

from exporter import registry
from exporter.assignment import ProbeSpec
from exporter.observe import observe
from exporter.plan.assignments import assignment_for
from exporter.plan.load import load_plan
from exporter.probe_loop import build_probe
from exporter.program.node import run_context
from exporter.scheduler import unplanned_specs
from exporter.settings import KnownMember, Settings
from probes import Run
from probes._host import Host, Tree
from probes._runner import find_runner

LIMIT_SECONDS = 10.0


def passive_specs(settings: Settings) -> Sequence[ProbeSpec]:
    """Return the probes that the plan asks of this node; without a plan, those that need none. Raises PlanError."""
    if settings.plan is not None:
        members = (*settings.members, KnownMember(settings.node))
        assignment = assignment_for(load_plan(settings.plan), settings.node, members, 0)
        if assignment is not None:
            return assignment.probes
    return unplanned_specs(registry.probes())


def not_planned(specs: Sequence[ProbeSpec]) -> list[str]:
    """Return the passive probes that are not among these, each with what only a plan can say to it."""
    asked = {spec.probe for spec in specs}
    left = (one for one in registry.probes().values() if one.kind == "host" and one.name not in asked)
    return [f"{one.name}{_needs(one.probe)}" for one in left]


def check_passively(settings: Settings, environment: Mapping[str, str], specs: Sequence[ProbeSpec]) -> list[Run]:
    """Run the probes, each within LIMIT_SECONDS, and return their runs in the order given."""
    return asyncio.run(_check(settings, environment, specs))


def _needs(probe: type) -> str:
    names = [one.name for one in fields(probe) if one.default is MISSING and one.default_factory is MISSING]
    return f" (needs {' and '.join(names)})" if names else ""


async def _check(settings: Settings, environment: Mapping[str, str], specs: Sequence[ProbeSpec]) -> list[Run]:
    return list(await asyncio.gather(*(_run(settings, environment, spec) for spec in specs)))


async def _run(settings: Settings, environment: Mapping[str, str], spec: ProbeSpec) -> Run:
    runner = find_runner(sys.executable, Tree(settings.host_root))
    environment = runner.environment(environment) if runner else environment
    host = Host(settings.host_root, environment=environment, launcher=runner)
    try:
        probe = build_probe(spec, registry.probes().get(spec.probe))
        limited = ProbeSpec(spec.probe, spec.id, spec.settings, limit_seconds=min(LIMIT_SECONDS, spec.limit_seconds))
        return await observe(probe, host, limited, run_context(settings), clock=time.time)
    finally:
        host.close()
