"""Between verdict and tests: which paths a verdict needs, and what the tester must know of the verdict."""

import logging
from pathlib import Path

import msgspec

from exporter.fabric.planned_paths import hca_class_of
from exporter.fabric.tester import PathTester, Situation
from exporter.gate.changes import Histories, decode_histories
from exporter.gate.inputs import GatePath, MemberState
from exporter.gate.verdict import Verdict
from exporter.plan import Plan
from exporter.settings import KnownMember

_log = logging.getLogger(__name__)


def planned_paths(plan: Plan, tester: PathTester) -> tuple[GatePath, ...]:
    """Return the paths that the plan's tests need for a verdict, each once for every class of HCAs."""
    found: dict[tuple[str, str], GatePath] = {}
    for pool in plan.pools:
        for spec in pool.tests:
            hcas = hca_class_of(spec).name
            for path in tester.paths_of(pool, spec):
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
    )


def kept_histories(path: Path) -> Histories:
    """Return what was saved of the nodes' changes; nothing, with a warning, where it cannot be read."""
    try:
        return decode_histories(path.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, msgspec.DecodeError) as error:
        _log.warning("%s: %s, what changed before this start is not known", path, error)
        return {}
