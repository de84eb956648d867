"""Which end of a failing path is to blame, told from what the same test says about the other paths of both ends.

A fault that names no end closes both. Yet a node that fails with everybody would close all of its peers, so a fault is
laid at one end where the other end is known to be good: it passes this test with somebody else, and fails with fewer
peers, while the blamed end fails with two at least. As many on both sides tell nothing, and the blame stays open.

A path in doubt (a target missed once, a test that told nothing) speaks against the end to blame, but takes nothing from
the good one: else one slow moment anywhere would open a blame that is told already, and close all peers again. And a
fault that was laid at one end stays there until its path is tested again: when the bad end recovers, its paths pass one
after the other, and those that still show the fault would close its peers.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

PEERS_AT_LEAST = 2

# A test, a path and when its run was received in Unix seconds, with the node that its fault is laid at.
Told = Mapping[tuple[str, str, float], str]


@dataclass(frozen=True, slots=True)
class PathState:
    """How one test stands on one path, seen from one of its ends: the other end's node, and what was found.

    A fault that is not ``certain`` was not confirmed, or not told.
    """

    peer: str
    passes: bool
    faulty: bool
    certain: bool


@dataclass(frozen=True, slots=True)
class _Peers:
    failing: frozenset[str]
    suspect: frozenset[str]
    passing: frozenset[str]

    def are_of_the_bad_end(self, others: "_Peers") -> bool:
        """Whether the end with these peers is to blame, and the one with the others is known to be good."""
        many = len(self.suspect)
        return many >= PEERS_AT_LEAST and bool(others.passing) and len(others.failing) < many


def lone_end(seen: Mapping[str, Iterable[PathState]]) -> str:
    """Return the node to blame of the two whose paths are given, empty where the blame stays open."""
    peers = {node: _peers(states) for node, states in seen.items()}
    bad = [node for node, other in _both_ways(tuple(peers)) if peers[node].are_of_the_bad_end(peers[other])]
    return bad[0] if len(bad) == 1 else ""


def _peers(states: Iterable[PathState]) -> _Peers:
    """A peer counts as failing with one path that fails, in either direction."""
    found = tuple(states)
    failing = frozenset(one.peer for one in found if one.faulty and one.certain)
    suspect = frozenset(one.peer for one in found if one.faulty)
    return _Peers(failing, suspect, frozenset(one.peer for one in found if one.passes) - failing)


def _both_ways(ends: tuple[str, ...]) -> Iterable[tuple[str, str]]:
    if len(ends) != 2:
        return ()
    one, other = ends
    return (one, other), (other, one)
