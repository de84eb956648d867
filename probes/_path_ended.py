"""How the two tools ended, and what that means when it was not well.

The order is what matters: the first cause before its after-effects, and "no completion" only once both ends had
exchanged addresses, because before that nothing has been said about the RDMA path.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from probes import End
from probes._endpoint import Ended, Outcome
from probes._path import Exchange
from probes._path_problem import Ends, Problem, fail, unknown
from probes._path_reading import Reading
from probes._path_reasons import AFTER_EFFECTS, LOCAL_REASONS
from probes._path_report import named
from probes.tools.failures import Failure, classify


@dataclass(frozen=True, slots=True)
class _Failed:
    """An end whose tool did not end well, and what its texts say about it."""

    end: End
    outcome: Outcome
    failure: Failure | None


def judge_ended(exchange: Exchange, ends: Ends, client: Reading, server: Reading) -> Iterator[Problem]:
    """Yield what is wrong about the tools' ends, the gravest first; nothing when both ended well."""
    failed = [
        _Failed(end, outcome, classify(outcome.stdout, outcome.stderr))
        for end, outcome in ((ends.client, exchange.client), (ends.server, exchange.server))
        if outcome and not _ended_well(outcome)
    ]
    if not failed:
        return
    yield from _first_causes(failed)
    if any(one.outcome.ended is Ended.DEADLINE for one in failed):
        yield _at_deadline(exchange, ends, client, server)
    yield from _killed(failed)
    yield from _after_effects(failed)
    for one in failed:
        yield unknown("tool_failed", f"{_how(one)}, a clean end wanted", one.end)


def _ended_well(outcome: Outcome) -> bool:
    return outcome.ended is Ended.EXIT and outcome.exit_status == 0


def _first_causes(failed: list[_Failed]) -> Iterator[Problem]:
    for one in failed:
        code, _, sentence = one.outcome.detail.partition(": ")
        if code in ("tool_hung", "tool_missing"):
            yield unknown(code, f"{named(one.end)}: {sentence}", one.end)
    # A client that cannot connect may be so because its server failed first.
    for one in sorted(failed, key=lambda one: bool(one.failure and one.failure.reason == "control_tcp")):
        if one.failure and one.failure.reason not in AFTER_EFFECTS:
            yield _classified(one, one.failure)


def _at_deadline(exchange: Exchange, ends: Ends, client: Reading, server: Reading) -> Problem:
    limit = f"{exchange.request.limit_seconds:g} s"
    if client.exchanged and server.exchanged:
        return fail("no_completion", f"both ends exchanged addresses, then no completion within {limit}, all wanted")
    silent = exchange.client and not (exchange.client.stdout + exchange.client.stderr).strip()
    unanswered = exchange.client and exchange.client.detail.startswith("control_tcp")
    if unanswered or (client.local and not client.remote and not server.remote):
        return unknown("control_tcp", f"no control connection within {limit}, one wanted before any RDMA")
    if silent:
        return unknown("tool_hung", f"{named(ends.client)}: the tool said nothing within {limit}, an output wanted")
    return unknown("tool_hung", f"no exchange of addresses within {limit}, one wanted")


def _killed(failed: list[_Failed]) -> Iterator[Problem]:
    for one in failed:
        if one.outcome.ended is Ended.EXIT and (one.outcome.exit_status or 0) < 0:
            number = -(one.outcome.exit_status or 0)
            sentence = f"the tool at {named(one.end)} was killed by signal {number}, its own end wanted"
            yield unknown("peer_gone", sentence, one.end)


def _after_effects(failed: list[_Failed]) -> Iterator[Problem]:
    for one in failed:
        if one.failure:
            yield _classified(one, one.failure)


def _classified(one: _Failed, failure: Failure) -> Problem:
    about = (one.end,) if failure.reason in LOCAL_REASONS else ()
    return Problem(failure.status, failure.reason, f"{named(one.end)}: {failure.summary}", about)


def _how(one: _Failed) -> str:
    said = one.outcome.stderr.strip().splitlines()
    ended = f"exit status {one.outcome.exit_status}" if one.outcome.ended is Ended.EXIT else str(one.outcome.ended)
    return f"{named(one.end)}: {ended}{f', {said[-1].strip()!r}' if said else ''}"
