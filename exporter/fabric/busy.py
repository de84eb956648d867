"""Which nodes are under test now, and how many tests there are: a path keeps one or two nodes busy, a group many."""

from collections import Counter
from collections.abc import Set as AbstractSet


class Busy:
    """The tests that run through one gate."""

    def __init__(self) -> None:
        self.running = 0
        self._nodes: Counter[str] = Counter()

    @property
    def nodes(self) -> frozenset[str]:
        """The nodes with a test."""
        return frozenset(+self._nodes)

    def take(self, nodes: AbstractSet[str]) -> None:
        """One more test runs on these."""
        self.running += 1
        self._nodes.update(nodes)

    def give_back(self, nodes: AbstractSet[str]) -> None:
        """One test fewer runs on these."""
        self.running -= 1
        self._nodes.subtract(nodes)
        self._nodes = +self._nodes
