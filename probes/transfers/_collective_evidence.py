"""What a burst left, as few texts as can be: a group may have hundreds of ranks, and each node shows its evidence.

The logs of a clean run are kept by the lines that prove something, those of any other run whole, the ranks that failed
first, up to a limit.
"""

import re
from collections.abc import Iterator, Sequence

from probes import Evidence
from probes._endpoint import Ended
from probes._group import BurstOutcome, RankOutcome
from probes.transfers._collective_burst import Burst

LOGS_LIMIT_CHARACTERS = 4 << 20
STDERR_LINES = 40
PROVES = re.compile(r" via |Using network|NCCL version|NET/\S+ ?: Using|set by environment|Init COMPLETE|nNodes|WARN")

Placed = tuple[str, RankOutcome]


def evidence_of(burst: Burst, *, clean: bool) -> Iterator[Evidence]:
    """Yield what every node saw, and what NCCL wrote on every rank."""
    outcomes = burst.outcomes
    if outcomes:
        first = next(iter(outcomes.values()))
        told = "\n".join(line for node, outcome in outcomes.items() for line in _told(node, outcome))
        yield Evidence("burst", told, first.argv)
    placed = [(node, rank) for node, outcome in outcomes.items() for rank in outcome.ranks if rank.debug_log]
    if placed:
        yield Evidence("NCCL logs", _logs(placed, clean=clean))
    for trouble in burst.troubles:
        yield Evidence(f"{trouble.node} trouble", f"{trouble.reason}: {trouble.summary}")


def _logs(placed: Sequence[Placed], *, clean: bool) -> str:
    ordered = placed if clean else sorted(placed, key=lambda one: _ended_well(one[1]))
    texts, left = [], LOGS_LIMIT_CHARACTERS
    for node, rank in ordered:
        text = "\n".join(filter(PROVES.search, rank.debug_log.splitlines())) if clean else rank.debug_log
        texts.append(f"== {node} rank {rank.rank}\n{text[:left]}")
        left -= len(text)
        if left <= 0:
            texts.append(f"== {len(ordered) - len(texts)} more ranks left out")
            break
    return "\n".join(texts)


def _told(node: str, outcome: BurstOutcome) -> Iterator[str]:
    yield f"== {node}, NCCL {outcome.nccl_version or 'unknown'}"
    if outcome.detail:
        yield f"note: {outcome.detail}"
    for rank in outcome.ranks:
        how = f"rank {rank.rank} on {rank.gpu_uuid} {rank.pci_address}: {rank.ended}, exit status {rank.exit_status}"
        yield f"{how}, {rank.message_bytes} bytes, {rank.wrong} wrong"
        if rank.detail:
            yield rank.detail
        yield f"  seconds: {' '.join(f'{one:.6g}' for one in rank.seconds)}"
        yield from (f"  {line}" for line in rank.stderr.strip().splitlines()[-STDERR_LINES:])
    yield "counters before and after:"
    yield from _counters(outcome)
    if outcome.stdout:
        yield f"stdout:\n{outcome.stdout}"


def _counters(outcome: BurstOutcome) -> Iterator[str]:
    for port in sorted({*outcome.counters_before, *outcome.counters_after}):
        before, after = outcome.counters_before.get(port, {}), outcome.counters_after.get(port, {})
        for name in sorted({*before, *after}):
            if before.get(name) != after.get(name):
                yield f"{port} {name} {before.get(name)} {after.get(name)}"


def _ended_well(rank: RankOutcome) -> bool:
    return rank.ended is Ended.EXIT and rank.exit_status == 0 and not rank.detail
