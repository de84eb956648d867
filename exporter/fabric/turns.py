"""Tests of paths and of groups share their turns: the lowest rank first, then whoever waits since the earliest second.

A group needs all of its nodes at once. Once its turn has come they take no other test, or one that is due ever again on
one of them would keep it waiting for good.
"""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from itertools import chain

from exporter.fabric.group_outlook import WaitingGroup
from exporter.fabric.jobs import GroupJob, Job, PathJob
from exporter.fabric.outlook import Waiting
from exporter.fabric.rounds import Fabric


@dataclass(frozen=True, slots=True)
class Turns:
    """What is due and waits for nothing but free nodes."""

    paths: Sequence[Waiting] = ()
    groups: Sequence[WaitingGroup] = ()

    def without(self, ended: AbstractSet[tuple[str, str]]) -> "Turns":
        """Return the same less the tests of these ids and targets."""
        left = [one for one in self.groups if (one.test.spec.id, one.turn.group.target) not in ended]
        return Turns([one.without(ended) for one in self.paths], left)

    def lacking(self, absent: AbstractSet[str], unready: AbstractSet[str]) -> Mapping[str, AbstractSet[str]]:
        """Return the absent nodes that something due waits for, each with those that are there and wait with it.

        Where nobody is there, only what has no result that passes waits for anybody.
        """
        found: dict[str, set[str]] = {}
        if not absent:
            return found
        paths = ((path.nodes, one.renews(path)) for one in self.paths for path in one.paths)
        groups = ((frozenset(one.turn.group.nodes), one.turn.renews) for one in self.groups)
        for nodes, renews in chain(paths, groups):
            if ((there := nodes - absent) or not renews) and not nodes & unready:
                for node in nodes & absent:
                    found.setdefault(node, set()).update(there)
        return found

    def next(self, fabric: Fabric) -> Job | None:
        """Return the test that goes next, or None."""
        if fabric.running >= fabric.tests_at_once:
            return None
        path = self._path(fabric)
        for one in sorted(self.groups, key=_order):
            nodes = frozenset(one.turn.group.nodes)
            if path is not None and path[0] < _order(one):
                break
            if nodes & fabric.unready.keys():
                continue
            if not nodes & fabric.busy:
                return GroupJob(one.pool, one.test.spec, one.turn.group, one.turn.searches)
            fabric = replace(fabric, busy=fabric.busy | nodes)
            if path is not None and path[1].nodes & nodes:
                path = self._path(fabric)
        return path[1] if path else None

    def _path(self, fabric: Fabric) -> tuple[tuple[int, float], PathJob] | None:
        found = [(due, PathJob(one.pool, one.spec, due.path)) for one in self.paths if (due := one.next(fabric))]
        due, job = min(found, key=lambda one: one[0], default=(None, None))
        return ((due.rank, due.since), job) if due and job else None


def _order(waiting: WaitingGroup) -> tuple[int, float]:
    return waiting.turn.rank, waiting.turn.since
