"""The reasons of a closed gate, put together: one cause on eight nodes is one sentence."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from exporter.gate.verdict import CheckStatus, Item, NodeVerdict, PoolVerdict

BANNER_GROUPS = 4
NAMES_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Trouble:
    """One reason to keep the gate closed: on ``place``, a node or a path, as ``reason`` says."""

    reason: str
    place: str
    summary: str
    owner: str
    is_path: bool
    is_consequence: bool


def troubles(pools: Iterable[PoolVerdict]) -> tuple[Trouble, ...]:
    """Return what closes nodes, each once. What merely waits for another fault comes in only where nothing else is."""
    found = [one for pool in pools for node in pool.nodes if not node.is_open for one in _of_node(node)]
    causes = [one for one in found if not one.is_consequence]
    return tuple(dict.fromkeys(causes or found))


def banner_reasons(found: Sequence[Trouble]) -> str:
    """Return ``node-b port_down, tool_missing on 8 nodes``, at most four of them."""
    groups = _groups(found)
    said = [_short(group) for group in groups[:BANNER_GROUPS]]
    more = [f"{len(groups) - BANNER_GROUPS} more"] if len(groups) > BANNER_GROUPS else []
    return ", ".join([*said, *more])


def sentences(found: Sequence[Trouble]) -> tuple[str, ...]:
    """Return one sentence for each cause, with its owner."""
    return tuple(_sentence(group) for group in _groups(found))


def _of_node(node: NodeVerdict) -> Iterable[Trouble]:
    if node.state != "reachable":
        why = node.checks[0].why if node.checks else node.state
        yield Trouble(node.state, node.node, why, "platform", is_path=False, is_consequence=False)
        return
    for check in node.checks:
        for item in check.reasons:
            yield _trouble(node.node, item)


def _trouble(node: str, item: Item) -> Trouble:
    reason = item.reason or item.status.value
    if reason == "not_planned":
        reason = f"{item.probe} {reason}"
    is_path = ">" in item.target
    place = item.target if is_path else node
    waits = item.status is CheckStatus.BLOCKED or reason == "no_peers"
    return Trouble(reason, place, item.summary, item.owner.value, is_path=is_path, is_consequence=waits)


def _groups(found: Sequence[Trouble]) -> list[list[Trouble]]:
    groups: dict[tuple[str, bool], list[Trouble]] = {}
    for one in found:
        groups.setdefault((one.reason, one.is_path), []).append(one)
    return list(groups.values())


def _places(group: Sequence[Trouble]) -> list[str]:
    return list(dict.fromkeys(one.place for one in group))


def _short(group: Sequence[Trouble]) -> str:
    places = _places(group)
    if len(places) == 1:
        return f"{places[0]} {group[0].reason}"
    return f"{group[0].reason} on {len(places)} {'paths' if group[0].is_path else 'nodes'}"


def _sentence(group: Sequence[Trouble]) -> str:
    first, places = group[0], _places(group)
    if len(places) == 1 and len(group) == 1:
        return f"{first.place}: {first.summary} ({first.owner})"
    shown = ", ".join(places[:NAMES_SHOWN]) + (" ..." if len(places) > NAMES_SHOWN else "")
    return f"{_short(group)} ({shown}), first: {first.summary} ({first.owner})"
