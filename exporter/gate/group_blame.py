"""Which nodes of failing groups are to blame, told from what the same test says about all groups of their nodes.

A node is laid at fault where its newest other group fails as well, and everybody else in that one is good without it;
and then only where all the other nodes of the failing group are good without those at fault. Otherwise the blame stays
open, and the fault closes all of them. What one group has told about a node explains every other group of that node,
which then speaks neither for nor against its other nodes.
"""

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property

from exporter.gate.group_results import GroupResult, newest_of

NOBODY: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Blame:
    """``results`` are the last ones of one test that still count."""

    results: Sequence[GroupResult]

    def of(self, failing: GroupResult) -> frozenset[str]:
        """Return the nodes of a failing group that are to blame, all of them where the blame is open."""
        return failing.told or self._told_by_others(failing, self._known) or frozenset(failing.nodes)

    def is_good(self, node: str, *, without: AbstractSet[str]) -> bool:
        """Whether the node's newest group passes that has none of those, nor anybody else known to be at fault."""
        return self._passes(node, without | (self._known - {node}), "")

    @cached_property
    def _groups(self) -> Mapping[str, Sequence[GroupResult]]:
        found: dict[str, list[GroupResult]] = {}
        for result in self.results:
            for node in result.nodes:
                found.setdefault(node, []).append(result)
        return found

    @cached_property
    def _known(self) -> frozenset[str]:
        """The nodes that are known to be at fault: each explains the failing groups that it is in."""
        failing = [one for one in self.results if one.must_pass_again]
        known = frozenset(node for one in failing for node in one.told if self._newest(node, NOBODY, "") is one)
        known |= frozenset(node for one in failing if len(one.nodes) == 1 for node in self._since(one, one.nodes))
        while more := self._more(failing, known) - known:
            known |= more
        return known

    def _more(self, failing: Sequence[GroupResult], known: frozenset[str]) -> frozenset[str]:
        told = ((one, self._told_by_others(one, known)) for one in failing)
        return frozenset(node for one, nodes in told for node in self._since(one, nodes))

    def _since(self, failing: GroupResult, nodes: Iterable[str]) -> frozenset[str]:
        """Those of the nodes that have passed nowhere since that group failed."""
        passed = {
            node
            for node in nodes
            if any(one.passes and one.received > failing.received for one in self._groups.get(node, ()))
        }
        return frozenset(nodes) - passed

    def _told_by_others(self, failing: GroupResult, known: frozenset[str]) -> frozenset[str]:
        nodes = frozenset(failing.nodes)
        bad = frozenset(node for node in nodes if node in known or self._fails(node, failing, known))
        others_good = all(self._passes(node, bad | known, failing.target) for node in nodes - bad)
        return bad if others_good else NOBODY

    def _fails(self, node: str, failing: GroupResult, known: frozenset[str]) -> bool:
        """Whether the node fails in another group as well, and is alone to blame there."""
        newest = self._newest(node, known - {node}, failing.target)
        if newest is None or not newest.must_pass_again:
            return False
        if newest.told:
            return node in newest.told
        others = (other for other in newest.nodes if other != node)
        return all(self._passes(other, known | {node}, failing.target) for other in others)

    def _passes(self, node: str, without: AbstractSet[str], but: str) -> bool:
        newest = self._newest(node, without - {node}, but)
        return newest is not None and newest.passes

    def _newest(self, node: str, without: AbstractSet[str], but: str) -> GroupResult | None:
        """The node's newest group with none of those, ``but`` for that target."""
        groups = self._groups.get(node, ())
        return newest_of(one for one in groups if one.target != but and not without & {*one.nodes})


def blamed_nodes(failing: GroupResult, results: Iterable[GroupResult]) -> frozenset[str]:
    """Return whom one failing group is blamed on; ``results`` are the last ones of the same test that still count."""
    return Blame(tuple(results)).of(failing)
