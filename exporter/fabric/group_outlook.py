"""What one moment's plan, members and results say about groups: which are expected, and whose turn it is.

Everything here is pure over what it was given, so that it may be worked out in a thread.
"""

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property

from exporter import registry
from exporter.fabric.group_rounds import GroupMoment, GroupTurn
from exporter.fabric.groups import ExpectedGroup, expected_groups, turn_at
from exporter.fabric.outlook import Situation
from exporter.gate.group_blame import Blame
from exporter.gate.group_results import GroupResult, GroupResults, group_results, is_of_group
from exporter.ledger import Key, Record
from exporter.plan import GroupTest, Plan, Pool
from exporter.plan.digest_of_test import digest_of_test
from exporter.plan.membership import pool_nodes

_CHECKS = registry.checks()
COMES_FIRST = frozenset(word for word, check in _CHECKS.items() if check.number < _CHECKS["transfers"].number)


@dataclass(frozen=True, slots=True, order=True)
class WaitingGroup:
    """A group that is due, with the test that is due in it."""

    turn: GroupTurn
    pool: Pool
    test: GroupTest


@dataclass(frozen=True)
class GroupOutlook:
    """One moment. ``now`` is Unix seconds."""

    plan: Plan
    situation: Situation
    records: Mapping[Key, Record]
    now: float

    def expected(self, pool: Pool, test: GroupTest) -> tuple[ExpectedGroup, ...]:
        """Return the groups of this turn, without nodes that cannot take part or are known to be at fault."""
        return self._moment(pool, test).expected

    def waiting(self, not_before: AbstractSet[tuple[str, str]]) -> list[WaitingGroup]:
        """Return what is due and waits for nothing but free nodes; ``not_before`` were put off for a while."""
        return [
            WaitingGroup(turn, pool, test)
            for pool in self.plan.pools
            for test in pool.group_tests
            for turn in self._moment(pool, test).turns()
            if (test.spec.id, turn.group.target) not in not_before
        ]

    def superseded(self) -> Iterator[Key]:
        """Yield the runs that tell nothing any more, so that they are shown and kept no longer."""
        tests = {(test.spec.probe, test.spec.id): (pool, test) for pool in self.plan.pools for test in pool.group_tests}
        for key in self.records:
            if is_of_group(key[2]) and key[:2] not in tests:
                yield key
        for name, (pool, test) in tests.items():
            yield from ((*name, one.target) for one in self._useless(pool, test, self._results.get(name, ())))

    def _useless(self, pool: Pool, test: GroupTest, results: Sequence[GroupResult]) -> Iterator[GroupResult]:
        nodes = {*self._nodes[pool.name]}
        here = {one.target: one for one in results if one.nodes and nodes.issuperset(one.nodes)}
        newest: dict[str, str] = {}
        passed: dict[str, str] = {}
        for result in sorted(here.values(), key=lambda one: one.received):
            members = dict.fromkeys(() if result.searches else result.nodes, result.target)
            newest |= members
            # What a node last passed tells that it is good, when a newer group of it fails.
            passed |= members if result.passes else {}
        planned = (one for one in self._counting(pool, test) if not one.searches)
        faults = {one.target for one in planned if one.must_pass_again} & here.keys()
        useful = faults | {*newest.values(), *passed.values()}
        for result in results:
            searched = result.searches and bool(faults) and result.target in here
            if not searched and result.target not in useful:
                yield result

    @cached_property
    def _nodes(self) -> Mapping[str, tuple[str, ...]]:
        return pool_nodes(self.plan, self.situation.members)

    @cached_property
    def _results(self) -> GroupResults:
        return group_results(self.records)

    def _able(self, pool: Pool, test: GroupTest) -> frozenset[str]:
        """Nodes that can be reached, with every earlier check open, to which the test applies."""
        now, probe = self.situation, test.spec.probe
        return frozenset(
            node
            for node in self._nodes[pool.name]
            if node not in now.unready and now.passed.get(node, frozenset()) >= COMES_FIRST
            if (node, probe) not in now.ruled_out
        )

    def _counting(self, pool: Pool, test: GroupTest) -> tuple[GroupResult, ...]:
        """The results of this test as it is planned that no change of any member has made stale."""
        changed, spec, digest = self.situation.changed, test.spec, self.plan.digest
        planned_as = digest_of_test(pool, spec)
        return tuple(
            one
            for one in self._results.get((spec.probe, spec.id), ())
            if one.nodes and (not digest or one.record.is_as_planned(digest, planned_as))
            if one.received >= max(changed.get(node, 0.0) for node in one.nodes)
            if self.now - one.received <= spec.fresh_seconds
        )

    def _moment(self, pool: Pool, test: GroupTest) -> GroupMoment:
        results, able, every_seconds = self._counting(pool, test), self._able(pool, test), test.spec.every_seconds
        blame = Blame(results)
        fit = able - _at_fault(results, blame)
        return GroupMoment(
            expected=expected_groups(test.groups, self._nodes[pool.name], fit, turn_at(self.now, every_seconds)),
            results=results,
            blame=blame,
            able=able,
            ranks_per_node=test.groups.ranks_per_node,
            size=test.groups.nodes_per_group,
            now=self.now,
            every_seconds=every_seconds,
        )


def _at_fault(results: Sequence[GroupResult], blame: Blame) -> frozenset[str]:
    told = ((one, blame.of(one)) for one in results if not one.passes and not one.searches)
    return frozenset(node for one, nodes in told for node in nodes if one.told or len(nodes) < len(one.nodes))
