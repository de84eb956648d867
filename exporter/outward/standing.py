"""How nodes and pools stand, in the few words that Kubernetes has room for: status, CamelCase reason, a sentence."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from exporter.gate.verdict import GRAVEST_FIRST, CheckStatus, CheckVerdict, NodeVerdict, PoolVerdict, Verdict

ALL_OPEN = "AllChecksOpen"
MESSAGE_AT_MOST = 500
REASONS_AT_MOST = 3


@dataclass(frozen=True, slots=True)
class Standing:
    """``status`` is True (open), False (something failed) or Unknown (not shown), as conditions have it."""

    status: str
    reason: str
    message: str


def camel_case(code: str) -> str:
    """Return ``PortDown`` for ``port_down``."""
    return "".join(word[:1].upper() + word[1:] for word in code.replace("-", "_").split("_"))


def standings(verdict: Verdict) -> Mapping[str, Standing]:
    """Return how each node of the plan stands, by its name."""
    return {node.node: _node(node, verdict) for pool in verdict.pools for node in pool.nodes}


def stranger(name: str, verdict: Verdict) -> Standing:
    """Return how a node stands of which the plan says nothing."""
    for code, sentence in verdict.blockers:
        return Standing("Unknown", camel_case(code), sentence)
    return Standing("Unknown", "NotPlanned", f"{name}: in no pool of the plan, one wanted")


def pool_sentence(pool: PoolVerdict, verdict: Verdict) -> str:
    """Return how many nodes of a pool are open, and what closes most of the others."""
    said = f"pool {pool.name}: {pool.open_nodes} of {len(pool.nodes)} nodes open found, {pool.wanted} wanted"
    closed = (_node(node, verdict).reason for node in pool.nodes if not node.is_open)
    return cut("; ".join((said, *reason_counts(Counter(closed)))))


def reason_counts(counts: Counter[str]) -> list[str]:
    """Return the most frequent reasons, each with the number of its nodes."""
    return [f"{reason} on {count}" for reason, count in counts.most_common(REASONS_AT_MOST)]


def cut(text: str) -> str:
    """Return the text, no longer than an Event may have it."""
    return text if len(text) <= MESSAGE_AT_MOST else f"{text[: MESSAGE_AT_MOST - 3]}..."


def _node(node: NodeVerdict, verdict: Verdict) -> Standing:
    if node.is_open:
        return Standing("True", ALL_OPEN, _open_sentence(node))
    closed = sorted((one for one in node.checks if not one.is_open), key=lambda one: GRAVEST_FIRST.index(one.status))
    if closed and (closed[0].status is CheckStatus.FAILED or not verdict.blockers):
        return _closed(closed[0], len(closed) - 1)
    code, sentence = verdict.blockers[0] if verdict.blockers else ("not_planned", f"{node.node}: no check found")
    return Standing("Unknown", camel_case(code), cut(sentence))


def _closed(check: CheckVerdict, others: int) -> Standing:
    item = next((one for one in check.items if one.status is check.status), None)
    reason = item.reason if item and item.reason else check.status.value
    more = f" (and {others} more checks)" if others else ""
    status = "False" if check.status is CheckStatus.FAILED else "Unknown"
    return Standing(status, camel_case(reason), cut(f"check {check.check} {check.status.value}: {check.why}{more}"))


def _open_sentence(node: NodeVerdict) -> str:
    decided = [one.check for one in node.checks if one.status is not CheckStatus.PASS]
    by_decision = f", {' and '.join(decided)} by decision" if decided else ""
    return f"{node.node}: {len(node.checks)} checks open{by_decision}"
