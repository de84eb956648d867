"""A node that vanishes from the cluster keeps its place as missing: for a day, or until the gate is told to read anew.

Nobody could tell otherwise a pool that lost a machine from one that is as it should be.
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from exporter.settings import KnownMember
from probes._cluster import KubeNode

KEPT_SECONDS = 24 * 3600.0

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Known:
    """A member as last seen; ``gone`` is since when it is not (seconds of ``monotonic``), None while it is."""

    member: KnownMember
    gone: float | None = None


class Departures:
    """Remembers members that were there. ``monotonic`` gives seconds that never go back."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._known: dict[str, _Known] = {}
        self._why: dict[str, str] = {}

    def follow(self, members: Iterable[KnownMember], nodes: Mapping[str, KubeNode]) -> tuple[KnownMember, ...]:
        """Return these members, and those that were there before, without an address but with their last labels."""
        here = {one.name: self._with_labels(one, nodes) for one in members}
        self._known = {**dict(self._left(here, nodes)), **{name: _Known(one) for name, one in here.items()}}
        self._why = {name: _why(name, nodes) for name, one in self._known.items() if one.gone is not None}
        return tuple(self._known[name].member for name in sorted(self._known))

    def why(self, node: str) -> str:
        """Return why a node is missing, as a phrase; empty for one that is there, or never was."""
        return self._why.get(node, "")

    def forget(self) -> None:
        """Let those go that are not there now."""
        for name in [name for name, one in self._known.items() if one.gone is not None]:
            _log.warning("%s: no longer in the cluster, and no longer expected: the files were read again", name)
            del self._known[name]

    def _with_labels(self, member: KnownMember, nodes: Mapping[str, KubeNode]) -> KnownMember:
        """A pod outlives its Node object by a while; the labels that placed it in its pool do, too."""
        before = self._known.get(member.name)
        if member.name in nodes or before is None:
            return member
        return KnownMember(member.name, member.url, member.addresses, before.member.labels)

    def _left(self, here: Mapping[str, KnownMember], nodes: Mapping[str, KubeNode]) -> Iterator[tuple[str, _Known]]:
        now = self._monotonic()
        for name, known in self._known.items():
            gone = now if known.gone is None else known.gone
            if name in here:
                continue
            if now - gone > KEPT_SECONDS:
                _log.warning("%s: not in the cluster for a day, and no longer expected", name)
                continue
            labels = nodes[name].labels if name in nodes else known.member.labels
            yield name, _Known(KnownMember(name, "", {}, labels), gone)


def _why(name: str, nodes: Mapping[str, KubeNode]) -> str:
    return "its node pod is gone" if name in nodes else "its Node is no longer in the cluster"
