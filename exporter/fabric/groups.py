"""Which groups of nodes the plan expects to run a collective together: named ones, the whole pool, or some that rotate.

Only nodes that can take part are in a group: it is made anew without those that cannot. Rotating groups are dealt by a
rule and not by chance: the first node stays, the others move on by one place a turn, and then lie in as many rows as a
group has nodes, every other row backwards; each column is a group. In pairs every node meets every other.
"""

import hashlib
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from exporter.gate.group_results import MARK
from exporter.plan import PlannedGroups

NAME_AT_MOST_CHARACTERS = 63
WHOLE_POOL = "whole-pool"


@dataclass(frozen=True, slots=True, order=True)
class ExpectedGroup:
    """``nodes`` run ``ranks_per_node`` ranks each, rank 0 on the first. ``name`` is what people and metrics call it."""

    name: str
    nodes: tuple[str, ...]
    ranks_per_node: int

    @property
    def target(self) -> str:
        """The group in runs and records: another member makes another target."""
        return f"{self.name}{MARK}{_digest(self.nodes)}"


def expected_groups(
    planned: PlannedGroups, pool: Sequence[str], able: AbstractSet[str], turn: int
) -> tuple[ExpectedGroup, ...]:
    """Return the groups of this turn among the ``able`` nodes of a pool; one that would be too small is none."""
    ranks = planned.ranks_per_node
    if planned.nodes_per_group:
        dealt = _dealt(sorted(able & {*pool}), planned.nodes_per_group, turn)
        return tuple(group_of(nodes, ranks) for nodes in dealt)
    named = planned.named or {WHOLE_POOL: tuple(sorted(pool))}
    found = ((name, nodes, tuple(node for node in nodes if node in able)) for name, nodes in named.items())
    return tuple(ExpectedGroup(name, there, ranks) for name, nodes, there in found if len(there) >= min(2, len(nodes)))


def group_of(nodes: Sequence[str], ranks_per_node: int) -> ExpectedGroup:
    """Return a group that is called by its nodes."""
    ordered = tuple(sorted(nodes))
    name = "+".join(ordered)
    if len(name) > NAME_AT_MOST_CHARACTERS:
        name = f"{ordered[0][:40]}+{len(ordered) - 1}-{_digest(ordered)}"
    return ExpectedGroup(name, ordered, ranks_per_node)


def turn_at(now: float, every_seconds: float) -> int:
    """Return which turn rotating groups have, so that they are others each time that the test is due."""
    return int(now // every_seconds)


def _dealt(nodes: Sequence[str], size: int, turn: int) -> Iterator[Sequence[str]]:
    if len(nodes) < size:
        return
    moved = _moved(nodes, turn)
    columns = len(nodes) // size
    rows = [moved[row * columns : (row + 1) * columns] for row in range(size)]
    for column in range(columns):
        yield [row[column] if number % 2 == 0 else row[-1 - column] for number, row in enumerate(rows)]
    if left := moved[columns * size :]:
        # Those that are left over take somebody with them who has had a turn.
        yield [*left, *moved[: size - len(left)]]


def _moved(nodes: Sequence[str], turn: int) -> list[str]:
    first, *others = sorted(nodes, key=lambda node: hashlib.sha256(node.encode()).digest())
    place = turn % len(others) if others else 0
    return [first, *others[place:], *others[:place]]


def _digest(nodes: Sequence[str]) -> str:
    return hashlib.sha256("\n".join(sorted(nodes)).encode()).hexdigest()[:8]
