"""From what all nodes left, the one thing that keeps a collective from passing, or nothing.

In this order: nodes that could not start, how the ranks ended, whether all planned ranks ran the planned size, whether
the data was right, over which transport it went. How fast it was is judged only after that.
"""

from collections.abc import Iterable, Iterator, Sequence

from probes import End, Status
from probes._collective_size import run_bytes
from probes._group import RankOutcome
from probes._path_problem import Problem, fail, unknown
from probes.tools.nccl_log import Transport
from probes.transfers._collective_burst import Burst
from probes.transfers._collective_ended import judge_ended
from probes.transfers._collective_reading import Reading, runs_one_process
from probes.transfers._collective_reasons import status_of

NOT_RDMA = {Transport.TCP, Transport.TCP_DIRECT, Transport.RDMA_HOST, Transport.EFA_HOST}


def judge_burst(burst: Burst, reading: Reading, wanted: Transport) -> Problem | None:
    """Return the first problem; None when the collective ran as planned, over ``wanted``."""
    return next(_problems(burst, reading, wanted), None)


def _problems(burst: Burst, reading: Reading, wanted: Transport) -> Iterator[Problem]:
    for trouble in burst.troubles:
        yield Problem(status_of(trouble.reason), trouble.reason, trouble.summary, (End(trouble.node),))
    yield from judge_ended(burst, reading)
    yield from _ranks(burst, reading)
    yield from _results(burst, reading)
    yield from _data(reading)
    yield from _transport(reading, wanted)
    if reading.figures is None:
        yield unknown("result_unreadable", "a rank without times found, one for each iteration wanted")


def _ranks(burst: Burst, reading: Reading) -> Iterator[Problem]:
    found, wanted = [rank.rank for rank in reading.ranks], burst.request.ranks
    if wanted < 2:
        yield unknown("one_rank", f"{wanted} rank found, at least 2 wanted: one rank proves nothing")
    if found != list(range(wanted)):
        yield unknown("ranks_differ", f"{len(found)} ranks found, {wanted} wanted, each once")
    yield from _places(burst, reading)
    for outcome in burst.outcomes.values():
        if outcome.truncated:
            yield unknown("output_truncated", f"{outcome.node}: more output than is kept, a whole one wanted")


def _places(burst: Burst, reading: Reading) -> Iterator[Problem]:
    """Each node tells of its own ranks, and of no other's; each rank has a GPU of its own."""
    here = burst.request.ranks_here
    for number, node in enumerate(burst.request.members):
        first = number * here
        told = [rank.rank for rank in reading.ranks if reading.rank_nodes[rank.rank] == node]
        if told != list(range(first, first + here)):
            found = ", ".join(map(str, told)) or "none"
            yield unknown("ranks_differ", f"{node}: ranks {found} found, {first} to {first + here - 1} wanted")
    seen: dict[str, int] = {}
    for rank in reading.ranks:
        other = seen.setdefault(rank.gpu_uuid, rank.rank)
        if other != rank.rank:
            yield unknown(
                "duplicate_gpu", f"ranks {other} and {rank.rank} on {rank.gpu_uuid} found, one GPU each wanted"
            )


def _results(burst: Burst, reading: Reading) -> Iterator[Problem]:
    request = burst.request
    wanted = run_bytes(request.collective, request.message_bytes, request.ranks)
    short = [rank for rank in reading.ranks if rank.message_bytes != wanted]
    if short:
        sentence = f"{_place(reading, short[0])}: {short[0].message_bytes} bytes run, {wanted} wanted"
        yield unknown("size_not_run", sentence, *_only(reading, short))
    few = [rank for rank in reading.ranks if len(rank.seconds) != request.iterations]
    if few and not runs_one_process(burst):
        sentence = f"{_place(reading, few[0])}: {len(few[0].seconds)} iterations run, {request.iterations} wanted"
        yield unknown("size_not_run", sentence, *_only(reading, few))


def _data(reading: Reading) -> Iterator[Problem]:
    wrong = [rank for rank in reading.ranks if rank.wrong]
    if wrong:
        nodes = sorted({reading.rank_nodes[rank.rank] for rank in wrong})
        total = sum(rank.wrong or 0 for rank in wrong)
        yield fail("wrong_data", f"{total} wrong elements on {len(wrong)} ranks of {', '.join(nodes)}, none wanted")
    unchecked = [rank for rank in reading.ranks if rank.wrong is None]
    if unchecked:
        sentence = f"{_place(reading, unchecked[0])}: data that nobody checked found, checked data wanted"
        yield unknown("not_validated", sentence, *_only(reading, unchecked))


def _transport(reading: Reading, wanted: Transport) -> Iterator[Problem]:
    proof = reading.proof
    within = wanted is Transport.INTRA_NODE and proof.transport is Transport.INTRA_NODE
    if proof.reason and not within:
        cause = f" (cause: {proof.cause})" if proof.cause else ""
        status = status_of(proof.reason)
        bad = [rank for rank, transport in proof.per_rank.items() if transport in NOT_RDMA]
        about = _nodes(reading, bad if status is Status.FAIL else proof.missing_ranks)
        yield Problem(status, proof.reason, f"{proof.sentence}{cause}", about)
    elif proof.transport is not wanted:
        yield fail("other_transport", f"{proof.transport} found, {wanted} wanted")


def _place(reading: Reading, rank: RankOutcome) -> str:
    return f"{reading.rank_nodes[rank.rank]} rank {rank.rank}"


def _only(reading: Reading, ranks: Sequence[RankOutcome]) -> tuple[End, ...]:
    return _nodes(reading, [rank.rank for rank in ranks])


def _nodes(reading: Reading, ranks: Iterable[int]) -> tuple[End, ...]:
    """The nodes of these ranks, where they are not all of them: then nobody is named."""
    named = {reading.rank_nodes[rank] for rank in ranks if rank in reading.rank_nodes}
    return tuple(End(node) for node in sorted(named)) if named < {*reading.rank_nodes.values()} else ()
