"""Whose turn it is of one collective test: retests first, then nodes that were never in a group, then by age.

A node is due when the newest group that counts for it is older than the test's interval, and a group when one of its
nodes is. Where a group fails and no node is to blame, each of its nodes is tried with one that is known to be good
outside of it; where there is none, the halves are tried by themselves. Everything here is pure.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice

from exporter.fabric.groups import ExpectedGroup, group_of
from exporter.fabric.rounds import Result, turn_of
from exporter.gate.group_blame import Blame
from exporter.gate.group_results import GroupResult

NEVER_TESTED = 1
MISSED = "missed_target"
PAIR_NODES = 2


@dataclass(frozen=True, slots=True, order=True)
class GroupTurn:
    """A group whose turn it is, as a path's: the lowest rank goes first, then who waits since the earliest Unix second.

    ``searches``: it is tested to find out which node of another group is to blame. ``renews``: the last results of all
    of its nodes pass, and only grow old.
    """

    rank: int
    since: float
    group: ExpectedGroup
    searches: bool = field(default=False, compare=False)
    renews: bool = field(default=False, compare=False)


@dataclass(frozen=True)
class GroupMoment:
    """One test now: ``expected`` groups of able nodes, the last ``results`` that still count, with their ``blame``.

    ``size`` is how many nodes each group has, 0 where that is not given; a search in one of that size is proof as well.
    """

    expected: tuple[ExpectedGroup, ...]
    results: Sequence[GroupResult]
    blame: Blame
    able: AbstractSet[str]
    ranks_per_node: int
    size: int
    now: float
    every_seconds: float

    def turns(self) -> Iterator[GroupTurn]:
        """Yield the groups that are due, each once."""
        found: dict[str, GroupTurn] = {}
        for turn in (*self._retests(), *self._rotation(), *self._searches()):
            if turn.since <= self.now:
                found.setdefault(turn.group.target, turn)
        yield from found.values()

    def proof_of(self, node: str) -> GroupResult | None:
        """Return the newest result that counts for a node: one that fails because of another node does not."""
        return self._proofs.get(node)

    @cached_property
    def _proofs(self) -> Mapping[str, GroupResult]:
        found: dict[str, GroupResult] = {}
        for result in sorted(self.results, key=lambda one: one.received):
            if not result.searches:
                found |= dict.fromkeys(result.nodes if result.passes else self.blame.of(result), result)
        return found

    def _retests(self) -> Iterator[GroupTurn]:
        """Faults are tested again as they were, while all of their nodes are able, and so is what names its node.

        What could not tell, of no node, is left to the groups of the turn: with other partners it may.
        """
        for result in self.results:
            named = bool(result.told) and any(self.proof_of(node) is result for node in result.told)
            if not result.searches and (result.must_pass_again or named) and self._able(result.nodes):
                last = Result(result.received, result.status, result.reason)
                group = ExpectedGroup(result.name, result.nodes, self.ranks_per_node)
                yield GroupTurn(*turn_of(last, self.now, self.every_seconds), group)

    def _rotation(self) -> Iterator[GroupTurn]:
        for group in self.expected:
            proofs = [self.proof_of(node) for node in group.nodes]
            turns = [turn_of(_last(proof), self.now, self.every_seconds) for proof in proofs]
            rank, since = min(turns)
            # A retest is one of the same group.
            renews = all(proof is not None and proof.passes for proof in proofs)
            yield GroupTurn(max(rank, NEVER_TESTED), since, group, renews=renews)

    def _searches(self) -> Iterator[GroupTurn]:
        """One fault after the other where they share a node: what the first tells may be all that there is to tell."""
        faults = sorted((one for one in self.results if self._is_riddle(one)), key=lambda one: one.received)
        asked: set[str] = set()
        for result in faults:
            if result.searches and not any({*result.nodes} < {*one.nodes} for one in faults):
                continue
            witnesses = [] if asked & {*result.nodes} else list(self._witnesses(result))
            for nodes in witnesses:
                group = group_of(nodes, self.ranks_per_node)
                yield GroupTurn(NEVER_TESTED, 0.0, group, searches=len(nodes) != self.size)
            asked.update(result.nodes if witnesses else ())

    def _is_riddle(self, result: GroupResult) -> bool:
        """Whether it failed, and nobody knows because of which of its nodes."""
        if not result.is_open_fault or len(result.nodes) < PAIR_NODES or not self._able(result.nodes):
            return False
        # Another number of ranks has no target, so it tells nothing about a missed one.
        if result.reason == MISSED and self.size != PAIR_NODES:
            return False
        return self.blame.of(result) == frozenset(result.nodes)

    def _witnesses(self, failing: GroupResult) -> Iterator[Sequence[str]]:
        """The groups that tell more about a fault, less those that were tested since."""
        suspects = frozenset(failing.nodes)
        able = (node for node in sorted(self.able - suspects) if self.blame.is_good(node, without=suspects))
        # Asked of no more nodes than are needed: a pool may have a thousand.
        good = list(islice(able, len(failing.nodes)))
        unheard = [node for node in failing.nodes if not self._heard_since(node, failing)]
        if good:
            partners = {node: good[number % len(good)] for number, node in enumerate(failing.nodes)}
            yield from ((node, partners[node]) for node in unheard)
        elif len(failing.nodes) > 1 and unheard:
            middle = len(failing.nodes) // 2
            for half in (failing.nodes[:middle], failing.nodes[middle:]):
                if len(half) * self.ranks_per_node > 1 and {*half} & {*unheard}:
                    yield half

    def _heard_since(self, node: str, failing: GroupResult) -> bool:
        others = (one for one in self.results if node in one.nodes and one.target != failing.target)
        return any(one.received > failing.received for one in others)

    def _able(self, nodes: Iterable[str]) -> bool:
        return all(node in self.able for node in nodes)


def _last(proof: GroupResult | None) -> Result | None:
    return Result(proof.received, proof.status, proof.reason) if proof else None
