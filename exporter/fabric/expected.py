"""Which ordered paths the plan expects: same rail, across rails and across racks, all of them or a sample.

A sample is drawn anew in each cycle, by a rule and not by chance: the members of a rail stand in a ring (by the hash
of their names), and each cycle takes the next distances along it, so that over the cycles every pair has its turn.
"""

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, product
from typing import TypeVar

SAME_RAIL, CROSS_RAIL, CROSS_RACK = "same_rail", "cross_rail", "cross_rack"
EVERY_PAIR = "every_pair"

T = TypeVar("T")


@dataclass(frozen=True, slots=True, order=True)
class PathEnd:
    """One planned HCA of one node. ``rail`` numbers the HCAs of a node; ``rack`` is empty when unknown."""

    node: str
    hca: str
    rail: str
    pool: str = ""
    rack: str = ""

    def __str__(self) -> str:
        return f"{self.node}:{self.hca}"


@dataclass(frozen=True, slots=True, order=True)
class ExpectedPath:
    """``client`` sends to ``server``. ``target`` names the path in runs and records: ``a:mlx5_0>b:mlx5_0``."""

    client: PathEnd
    server: PathEnd
    path_class: str
    target: str = field(init=False, compare=False)

    def __post_init__(self) -> None:
        # Said once: a fabric has tens of thousands of paths, and each is looked up by its target.
        object.__setattr__(self, "target", f"{self.client}>{self.server}")

    @property
    def nodes(self) -> frozenset[str]:
        """The one or two nodes that a test of this path keeps busy."""
        return frozenset((self.client.node, self.server.node))


@dataclass(frozen=True, slots=True)
class Mode:
    """How the pairs of a class are chosen: every_pair, sampled, one_per_rail_pair or per_rack_pair."""

    mode: str
    peers_per_hca: int = 2
    samples: int = 1


def expected_paths(
    ends: Iterable[PathEnd], modes: Mapping[str, Mode], cycle: int = 0, *, path_class: str = ""
) -> tuple[ExpectedPath, ...]:
    """Return the ordered paths of this cycle, each once, under the first class that wants it.

    ``modes`` maps same_rail, cross_rail and cross_rack to their mode; absent ones expect nothing. Pools are tested
    each by itself, and never a node with itself. ``path_class`` picks one class. ValueError for an unknown mode.
    """
    found: dict[tuple[PathEnd, PathEnd], str] = {}
    for pool in _groups(ends, lambda end: end.pool).values():
        for name, pairs_of in _CLASSES.items():
            if name in modes and path_class in ("", name):
                for pair in pairs_of(pool, modes[name], cycle):
                    found.setdefault(pair, name)
    return tuple(ExpectedPath(client, server, name) for (client, server), name in sorted(found.items()))


def path_named(target: str, ends: Mapping[str, PathEnd]) -> ExpectedPath | None:
    """Return the path of a target, by the ends' names (``node:hca``); None when an end is not planned any more."""
    client, server = (ends.get(name) for name in target.partition(">")[::2])
    if client is None or server is None:
        return None
    if client.rail != server.rail:
        return ExpectedPath(client, server, CROSS_RAIL)
    return ExpectedPath(client, server, CROSS_RACK if client.rack != server.rack else SAME_RAIL)


Pairs = Iterator[tuple[PathEnd, PathEnd]]


def _same_rail(ends: Sequence[PathEnd], mode: Mode, cycle: int) -> Pairs:
    for members in _groups(ends, lambda end: end.rail).values():
        if mode.mode == EVERY_PAIR:
            yield from _all_pairs(members, members)
        else:
            _wanted(mode, SAME_RAIL, "sampled")
            yield from _sampled(_ring(members), mode.peers_per_hca, cycle)


def _cross_rail(ends: Sequence[PathEnd], mode: Mode, cycle: int) -> Pairs:
    rails = _groups(ends, lambda end: end.rail)
    for one, other in product(rails, rails):
        if one != other:
            yield from _between(rails[one], rails[other], mode, CROSS_RAIL, cycle)


def _cross_rack(ends: Sequence[PathEnd], mode: Mode, cycle: int) -> Pairs:
    for members in _groups(ends, lambda end: end.rail).values():
        racks = _groups((end for end in members if end.rack), lambda end: end.rack)
        for one, other in product(racks, racks):
            if one != other:
                yield from _between(racks[one], racks[other], mode, CROSS_RACK, cycle)


_CLASSES: Mapping[str, Callable[[Sequence[PathEnd], Mode, int], Pairs]] = {
    SAME_RAIL: _same_rail,
    CROSS_RAIL: _cross_rail,
    CROSS_RACK: _cross_rack,
}


def _between(clients: Sequence[PathEnd], servers: Sequence[PathEnd], mode: Mode, name: str, cycle: int) -> Pairs:
    if mode.mode == EVERY_PAIR:
        yield from _all_pairs(clients, servers)
        return
    _wanted(mode, name, "one_per_rail_pair" if name == CROSS_RAIL else "per_rack_pair")
    here, there = _ring(clients), _ring(servers)
    turns = range(cycle * mode.samples, cycle * mode.samples + len(here) * len(there))
    pairs = ((here[turn % len(here)], there[(turn % len(here) + turn // len(here)) % len(there)]) for turn in turns)
    yield from islice((pair for pair in pairs if pair[0].node != pair[1].node), mode.samples)


def _sampled(ring: Sequence[PathEnd], peers: int, cycle: int) -> Pairs:
    """Both directions of the pairs at the cycle's distances; one distance gives each member a peer on either side."""
    for distance in _distances(len(ring), peers, cycle):
        for place, end in enumerate(ring):
            other = ring[(place + distance) % len(ring)]
            yield from _all_pairs((end, other), (end, other))


def _distances(members: int, peers: int, cycle: int) -> list[int]:
    farthest = members // 2
    count = min(farthest, max(1, (peers + 1) // 2))
    chosen = [(cycle * count + number) % farthest + 1 for number in range(count + 1)] if farthest else []
    # Straight across an even ring both neighbours are the same one, so that takes one distance more.
    across = 2 * farthest == members and farthest in chosen[:count]
    return chosen if across and count < farthest and peers > 1 else chosen[:count]


def _all_pairs(clients: Iterable[PathEnd], servers: Iterable[PathEnd]) -> Pairs:
    return ((client, server) for client, server in product(clients, servers) if client.node != server.node)


def _ring(members: Iterable[PathEnd]) -> list[PathEnd]:
    return sorted(members, key=lambda end: _hash(str(end)))


def _hash(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


def _groups(items: Iterable[T], key: Callable[[T], str]) -> dict[str, list[T]]:
    groups: defaultdict[str, list[T]] = defaultdict(list)
    for item in items:
        groups[key(item)].append(item)
    return dict(sorted(groups.items()))


def _wanted(mode: Mode, path_class: str, wanted: str) -> None:
    if mode.mode != wanted:
        raise ValueError(f"paths.{path_class}.mode: {mode.mode!r} found, {EVERY_PAIR} or {wanted} wanted")
