"""Which paths are tested out of turn because they tell which end of a failing path is to blame.

A fault that names no end closes both until other paths of its ends tell more (see exporter.gate.blame). So each end is
tested at once with somebody else: the good one passes, and the other one fails with a second peer.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from exporter.fabric.expected import ExpectedPath, PathEnd
from exporter.fabric.rounds import Result, must_pass_again
from exporter.gate.blame import PathState, lone_end
from probes import Status


def witnesses(paths: Iterable[ExpectedPath], results: Mapping[str, Result]) -> frozenset[str]:
    """Return the targets to test now. ``paths`` wait for nothing, ``results`` are their last ones of one test.

    An end needs none once it was tested with somebody else since the failure, and none does once the blame is told.
    """
    paths_of: defaultdict[PathEnd, list[ExpectedPath]] = defaultdict(list)
    failing = []
    for path in paths:
        paths_of[path.client].append(path)
        paths_of[path.server].append(path)
        if (last := results.get(path.target)) and last.status is Status.FAIL:
            failing.append((path, last.received))
    found: set[str] = set()
    for path, failed in failing:
        ends = (path.client, path.server)
        if not lone_end({end.node: _states(end, paths_of[end], results) for end in ends}):
            others = ([one for one in paths_of[end] if one.nodes != path.nodes] for end in ends)
            found.update(target for some in others if (target := _witness(some, results, failed)))
    return frozenset(found)


def _witness(others: Sequence[ExpectedPath], results: Mapping[str, Result], failed: float) -> str:
    """The path that was tested longest ago; empty where one was tested since."""
    received = {path.target: last.received if (last := results.get(path.target)) else 0.0 for path in others}
    if max(received.values(), default=failed) >= failed:
        return ""
    return min(received, key=lambda target: (received[target], target))


def _states(end: PathEnd, paths: Iterable[ExpectedPath], results: Mapping[str, Result]) -> tuple[PathState, ...]:
    return tuple(_state(_peer(path, end), results[path.target]) for path in paths if path.target in results)


def _state(peer: str, last: Result) -> PathState:
    return PathState(peer, last.status is Status.PASS, must_pass_again(last), last.status is Status.FAIL)


def _peer(path: ExpectedPath, end: PathEnd) -> str:
    return path.server.node if end == path.client else path.client.node
