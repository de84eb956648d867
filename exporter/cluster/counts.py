"""What is kept of the API in numbers, by kind of object: how much, how often it broke off, and how old it is."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any

from exporter.cluster.count import Count
from exporter.cluster.reflector import Reflector


class EndedLists:
    """What lists that are no longer kept had counted: without it a counter would go back."""

    def __init__(self) -> None:
        self.relists = Counter[str]()
        self.breaks = Counter[str]()

    def add(self, one: Reflector[Any]) -> None:
        """Take over the counts of a list that ends."""
        self.relists[one.source.kind.resource] += one.relists
        self.breaks[one.source.kind.resource] += one.restarts


def counts_of(
    lists: Iterable[Reflector[Any]], ended: EndedLists, *, now: float, stale_seconds: float
) -> tuple[Count, ...]:
    """Return each kind in numbers, by name."""
    kinds: defaultdict[str, list[Reflector[Any]]] = defaultdict(list)
    for one in lists:
        if not one.absent:
            kinds[one.source.kind.resource].append(one)
    return tuple(
        Count(
            resource=resource,
            objects=sum(len(one.items) for one in found),
            relists=ended.relists[resource] + sum(one.relists for one in found),
            breaks=ended.breaks[resource] + sum(one.restarts for one in found),
            heard=now - max(one.age_seconds for one in found),
            readable=all(one.unread(stale_seconds) is None for one in found),
        )
        for resource, found in sorted(kinds.items())
    )
