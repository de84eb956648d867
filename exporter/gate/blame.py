"""Which end of a failing path is to blame, told from what the same test says about the other paths of both ends.

A fault that names no end closes both. Yet a node that fails with everybody would close all of its peers, so a fault is
laid at one end where the other end is known to be good: it passes this test with somebody else, and fails with fewer
peers, while the blamed end fails with two at least. As many on both sides tell nothing, and the blame stays open.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

PEERS_AT_LEAST = 2


@dataclass(frozen=True, slots=True)
class PathState:
    """How one test stands on one path, seen from one of its ends: the other end's node, and what was found."""

    peer: str
    passes: bool
    fails: bool


@dataclass(frozen=True, slots=True)
class _Peers:
    failing: frozenset[str]
    passing: frozenset[str]


def lone_end(seen: Mapping[str, Iterable[PathState]]) -> str:
    """Return the node to blame of the two whose paths are given, empty where the blame stays open."""
    peers = {node: _peers(states) for node, states in seen.items()}
    for node, other in _both_ways(tuple(peers)):
        fails, good = peers[node].failing, peers[other]
        if len(fails) >= PEERS_AT_LEAST and good.passing and len(good.failing) < len(fails):
            return node
    return ""


def _peers(states: Iterable[PathState]) -> _Peers:
    """A peer counts as failing with one path that fails, in either direction."""
    found = tuple(states)
    failing = frozenset(one.peer for one in found if one.fails)
    return _Peers(failing, frozenset(one.peer for one in found if one.passes) - failing)


def _both_ways(ends: tuple[str, ...]) -> Iterable[tuple[str, str]]:
    if len(ends) != 2:
        return ()
    one, other = ends
    return (one, other), (other, one)
