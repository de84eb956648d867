"""How the ranks came to their end, and what that means when it was not well: the first cause before its echoes.

A rank that dies is heard as an error by all others, so it speaks first; a node whose ranks alone failed is to blame.
Ranks that all hang were connected (and then the network is at fault), or had not even met.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from probes import End, Status
from probes._endpoint import Ended
from probes._group import RankOutcome
from probes._path_problem import Problem
from probes.tools.failures import Failure
from probes.tools.nccl_log import classify_nccl
from probes.transfers._collective_burst import Burst
from probes.transfers._collective_reading import Reading
from probes.transfers._collective_reasons import AFTER_EFFECTS, COLLECTIVE_REASONS, OF_ITS_NODE, status_of


@dataclass(frozen=True, slots=True)
class _Failed:
    """A rank that did not end well: its node, the reason it gives, its sentence, and what NCCL's words mean."""

    node: str
    rank: RankOutcome
    reason: str
    sentence: str
    heard: Failure | None


def judge_ended(burst: Burst, reading: Reading) -> Iterator[Problem]:
    """Yield what is wrong about the ranks' ends, the first cause first; nothing when all ended well."""
    failed = [
        _failed(node, rank)
        for node, outcome in burst.outcomes.items()
        for rank in outcome.ranks
        if rank.ended is not Ended.EXIT or rank.exit_status != 0 or rank.detail
    ]
    causes = [one for one in failed if one.reason not in AFTER_EFFECTS]
    yield from _of_their_nodes(causes)
    yield from _heard(causes)
    if hung := [one for one in causes if one.rank.ended is Ended.DEADLINE]:
        yield _hung(burst, hung, reading)
    for one in causes:
        yield _problem(one, one.reason if one.reason in COLLECTIVE_REASONS else "tool_failed")
    for one in failed:
        yield Problem(Status.UNKNOWN, "tool_failed", f"{_place(one)}: {one.sentence}, an end of its own wanted")


def _failed(node: str, rank: RankOutcome) -> _Failed:
    reason, _, sentence = rank.detail.partition(": ")
    if not sentence:
        reason, sentence = "", rank.detail or f"exit status {rank.exit_status}"
    if not reason and rank.ended is Ended.STOPPED:
        reason = "stopped"
    if not reason and rank.ended in (Ended.EXIT, Ended.NOT_STARTED):
        reason = "rank_died"
    heard = classify_nccl([*rank.debug_log.splitlines(), *rank.stderr.splitlines()])
    return _Failed(node, rank, reason, sentence, heard)


def _of_their_nodes(causes: Iterable[_Failed]) -> Iterator[Problem]:
    """What a rank says about its own node; of one that merely died, NCCL's words say more where there are any."""
    told = [one for one in causes if one.reason in OF_ITS_NODE - {"rank_died"}]
    killed = [one for one in causes if one.reason == "rank_died" and one.heard is None]
    for one in (*killed, *told):
        yield _problem(one, one.reason, End(one.node))


def _heard(causes: Iterable[_Failed]) -> Iterator[Problem]:
    for one in causes:
        if one.heard:
            yield Problem(one.heard.status, one.heard.reason, f"{_place(one)}: {one.heard.summary}")


def _hung(burst: Burst, hung: list[_Failed], reading: Reading) -> Problem:
    limit = f"{burst.request.limit_seconds:g} s"
    silent = {one.node for one in hung if not one.rank.debug_log.strip()}
    about = tuple(End(node) for node in sorted(silent)) if silent < {*burst.outcomes} else ()
    if silent:
        sentence = f"ranks on {', '.join(sorted(silent))} that said nothing within {limit} found, all of them wanted"
        return Problem(Status.UNKNOWN, "tool_hung", sentence, about)
    met = reading.completed
    if len(met) < burst.request.ranks:
        sentence = f"{len(met)} of {burst.request.ranks} ranks joined within {limit}, all wanted before any collective"
        return Problem(Status.UNKNOWN, "control_tcp", sentence)
    return Problem(Status.FAIL, "no_completion", f"all ranks joined, then no completion within {limit}, all wanted")


def _problem(one: _Failed, reason: str, *about: End) -> Problem:
    wanted = "" if one.sentence.endswith("wanted") else ", a result wanted"
    return Problem(status_of(reason), reason, f"{_place(one)}: {one.sentence}{wanted}", about)


def _place(one: _Failed) -> str:
    return f"{one.node} rank {one.rank.rank}"
