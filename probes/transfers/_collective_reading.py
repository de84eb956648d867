"""What a burst's outcomes say, read once: the ranks in order, the proof of their transport, and the figures."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from probes._collective_size import bytes_between_nodes
from probes._group import BurstOutcome, BurstWay, RankOutcome
from probes.tools.nccl_log import NcclLog, Transport, TransportProof, corroborated, read_nccl_log, transport_proof
from probes.tools.nccl_tests import read_nccl_tests
from probes.transfers._collective_burst import Burst
from probes.transfers._collective_figures import Figures, figures_of


@dataclass(frozen=True, slots=True)
class Reading:
    """``ranks`` in the order of their numbers, with the node of each; ``completed`` those that NCCL had joined.

    ``figures`` is None where a rank has no times. ``rank_nodes`` maps the numbers of ranks to their nodes.
    """

    ranks: tuple[RankOutcome, ...]
    rank_nodes: Mapping[int, str]
    completed: frozenset[int]
    proof: TransportProof
    figures: Figures | None


def read_burst(burst: Burst, rails: tuple[str, ...] = (), *, planned: Transport = Transport.RDMA_GDR) -> Reading:
    """Read everything that a burst left; it takes a while where the logs are long."""
    outcomes = burst.outcomes
    ranks = sorted((rank for one in outcomes.values() for rank in one.ranks), key=lambda rank: rank.rank)
    logs = [read_nccl_log(rank.debug_log) for rank in ranks if rank.debug_log]
    request = burst.request
    timed = tuple(_timed(rank, outcomes[node]) for node in outcomes for rank in outcomes[node].ranks)
    return Reading(
        ranks=tuple(ranks),
        rank_nodes={rank.rank: node for node, one in outcomes.items() for rank in one.ranks},
        completed=frozenset(rank for log in logs for rank in log.completed),
        proof=_proof(burst, logs, rails, planned),
        figures=figures_of(timed, request),
    )


def _timed(rank: RankOutcome, outcome: BurstOutcome) -> RankOutcome:
    """nccl-tests without -I prints the mean of all iterations alone, which is then the only time."""
    if rank.seconds or not outcome.stdout:
        return rank
    rows = [row for row in read_nccl_tests(outcome.stdout).rows if row.size_bytes == rank.message_bytes]
    timing = rows[-1].timing if rows else None
    return replace(rank, seconds=(float(timing.seconds),)) if timing else rank


def _proof(burst: Burst, logs: list[NcclLog], rails: tuple[str, ...], planned: Transport) -> TransportProof:
    request, nodes = burst.request, len(burst.request.members)
    proof = transport_proof(logs, ranks=request.ranks, rails=rails if nodes > 1 else (), planned=planned)
    expected_bytes = bytes_between_nodes(request)
    agreed: list[bool | None] = []
    for outcome in burst.outcomes.values():
        held = corroborated(proof, outcome.counters_before, outcome.counters_after, expected_bytes)
        if held.transport is Transport.UNKNOWN and proof.transport is not Transport.UNKNOWN:
            return replace(held, sentence=f"{outcome.node}: {held.sentence}")
        agreed.append(held.corroborated)
    return replace(proof, corroborated=None if None in agreed else all(agreed))


def runs_one_process(burst: Burst) -> bool:
    """Whether one program runs all ranks of a node, and tells of all together."""
    return burst.request.way is BurstWay.NCCL_TESTS
