"""Between verdict and tests: which paths a verdict needs, and what the tester must know of the verdict."""

import logging
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from exporter import registry
from exporter.fabric.group_outlook import GroupOutlook
from exporter.fabric.outlook import Outlook, Situation
from exporter.fabric.planned_paths import hca_class_of
from exporter.gate.changes import Histories
from exporter.gate.decide import decide
from exporter.gate.inputs import GateGroup, GateInputs, GatePath, MemberState
from exporter.gate.snapshot import Taking, snapshot_bytes, take_snapshot
from exporter.gate.verdict import CheckStatus, Verdict
from exporter.plan import Plan
from exporter.program.gate_view import view_of
from exporter.settings import KnownMember
from exporter.view import GateView

_log = logging.getLogger(__name__)


def planned_paths(outlook: Outlook) -> tuple[GatePath, ...]:
    """Return the paths that the plan's tests need for a verdict, each once for every class of HCAs."""
    found: dict[tuple[str, str], GatePath] = {}
    for pool in outlook.plan.pools:
        for spec in pool.tests:
            hcas = hca_class_of(spec).name
            for path in outlook.paths_of(pool, spec):
                found[hcas, path.target] = GatePath(
                    target=path.target,
                    client=path.client.node,
                    client_device=path.client.hca,
                    server=path.server.node,
                    server_device=path.server.hca,
                    pool=pool.name,
                    path_class=path.path_class,
                    rail=path.client.rail,
                    hcas=hcas,
                )
    return tuple(found.values())


def expected(outlook: Callable[[], Outlook] | None, groups: Callable[[], GroupOutlook] | None) -> dict[str, Any]:
    """Return the paths and groups that a verdict needs, as its inputs; both outlooks are None without a plan."""
    return {
        "paths": planned_paths(outlook()) if outlook else (),
        "groups": planned_groups(groups()) if groups else (),
    }


def planned_groups(outlook: GroupOutlook) -> tuple[GateGroup, ...]:
    """Return the groups that the plan's collective tests have now."""
    return tuple(
        GateGroup(group.target, group.name, group.nodes, pool.name, test.spec.id)
        for pool in outlook.plan.pools
        for test in pool.group_tests
        for group in outlook.expected(pool, test)
    )


def judge_and_show(
    gather: Callable[[], GateInputs], plan: Plan | None, notes: tuple[str, ...], files: Mapping[str, bool]
) -> tuple[Verdict, GateView]:
    """Return the verdict on what is gathered, and its view; pure, and fit for a thread."""
    verdict = decide(gather())
    return verdict, view_of(verdict, plan, notes, files)


def frozen(gather: Callable[[], GateInputs], read: Callable[[str], str | None], taking: Taking) -> bytes:
    """Return what is gathered, the verdict on it and its evidence as canonical JSON; fit for a thread."""
    inputs = gather()
    return snapshot_bytes(take_snapshot(decide(inputs), inputs, read, taking))


def probe_names() -> frozenset[str]:
    """Return the probes of this program, and those that a check requires but this version does not have."""
    required = (name for check in registry.checks().values() for name in check.required)
    return frozenset((*registry.probes(), *required))


def situation_of(
    verdict: Verdict, plan: Plan | None, members: tuple[KnownMember, ...], histories: Histories, paused: str
) -> Situation:
    """Return what the tester must know now."""
    nodes = [node for pool in verdict.pools for node in pool.nodes]
    return Situation(
        plan=plan,
        members=members,
        passed={node.node: frozenset(one.check for one in node.checks if one.is_open) for node in nodes},
        unready={node.node: node.state for node in nodes if node.state != MemberState.REACHABLE},
        changed={name: history.changed for name, history in histories.items()},
        paused=paused,
        ruled_out=frozenset(_ruled_out(verdict)),
    )


def _ruled_out(verdict: Verdict) -> Iterator[tuple[str, str]]:
    """Nodes with the probes that do not apply to them, by decision."""
    for node in (node for pool in verdict.pools for node in pool.nodes):
        for item in (item for check in node.checks for item in check.items):
            if item.status is CheckStatus.NOT_APPLICABLE:
                yield node.node, item.probe
