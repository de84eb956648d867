"""The verdict in one line, and its reasons in a few."""

from collections.abc import Iterator, Sequence

from exporter.gate.decisions import Decision
from exporter.gate.grouping import banner_reasons, sentences, troubles
from exporter.gate.verdict import Blockers, PoolVerdict


def banner(is_open: bool, blockers: Blockers, pools: Sequence[PoolVerdict], used: Sequence[Decision]) -> str:
    """Return ``open``, ``open by 5 decisions, identity not verified``, or ``closed: node-b port_down, ...``."""
    if is_open and used:
        return f"open by {len(used)} decision{'s' if len(used) > 1 else ''}, identity not verified"
    if is_open:
        return "open"
    empty = [f"pool {pool.name} has no nodes" for pool in pools if not pool.nodes]
    short = [f"pool {pool.name} {pool.open_nodes} of {pool.wanted} nodes" for pool in pools if _is_too_small(pool)]
    causes = banner_reasons(troubles(pools))
    return f"closed: {', '.join([*(code for code, _ in blockers), *empty, *short, *filter(None, [causes])])}"


def problems(blockers: Blockers, pools: Sequence[PoolVerdict]) -> Iterator[str]:
    """Yield the reasons of a closed gate, each as a sentence, with who mends it where it is a finding."""
    yield from (sentence for _, sentence in blockers)
    for pool in pools:
        if pool.open_nodes < pool.wanted:
            yield f"pool {pool.name}: {pool.open_nodes} of {len(pool.nodes)} nodes open, {pool.wanted} wanted"
    yield from sentences(troubles(pools))


def _is_too_small(pool: PoolVerdict) -> bool:
    return 0 < len(pool.nodes) < pool.wanted
