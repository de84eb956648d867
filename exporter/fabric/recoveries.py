"""When a node's own checks came to stand again: what failed on its paths before that is worth another look at once.

A test that ran while a link went down shows that fault until it runs again, which may be long after the link is up. So
does a test pod that could not be had while the device plugin was away.
"""

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet

from exporter.fabric.rounds import Result
from exporter.gate.node_checks import COMES_FIRST
from probes import Status


class Recoveries:
    """Follows on which nodes these checks are open. ``at`` is when they last came to be, in Unix seconds."""

    def __init__(self, checks: Iterable[str] = COMES_FIRST) -> None:
        self.at: Mapping[str, float] = {}
        self._checks = frozenset(checks)
        self._ready: AbstractSet[str] = frozenset()

    def follow(self, passed: Mapping[str, AbstractSet[str]], now: float) -> None:
        """Take note of the open checks of each node."""
        ready = frozenset(node for node, checks in passed.items() if checks >= self._checks)
        if came := ready - self._ready:
            self.at = {**self.at, **dict.fromkeys(came, now)}
        self._ready = ready


def worth_another_look(results: Mapping[str, Result], recovered: Mapping[str, float]) -> frozenset[str]:
    """Return the targets that did not pass, and of which an end has come to since."""
    return frozenset(
        target
        for target, result in results.items()
        if result.status is not Status.PASS
        if any(result.received < recovered.get(end.partition(":")[0], 0.0) for end in target.split(">"))
    )
