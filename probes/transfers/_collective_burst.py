"""One burst over the nodes of a group: rank 0's node first, the others with its unique id, and none left behind.

A rank that is alone waits for ever, so all nodes are stopped as soon as one of them has failed. Nothing is judged here.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from probes import ProbeError
from probes._endpoint import Ended, Refused, Unreachable
from probes._group import BurstOutcome, BurstReady, BurstRequest, Group, GroupEndpoint
from probes._path import STOPPED_FOR

# How long the other nodes may still say what they saw once one has failed.
AFTER_FAILURE_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class Trouble:
    """A node that could not start its part, or gave no outcome: a reason code, a sentence, and the node."""

    reason: str
    summary: str
    node: str


@dataclass(frozen=True, slots=True)
class Burst:
    """What one burst left: ``request`` is that of rank 0's node, the outcomes are those there are, by node."""

    request: BurstRequest
    outcomes: Mapping[str, BurstOutcome] = field(default_factory=dict)
    troubles: tuple[Trouble, ...] = ()


async def run_burst(group: Group, request: BurstRequest, after_failure_seconds: float = AFTER_FAILURE_SECONDS) -> Burst:
    """Run one burst; ``request`` is completed for each node. Raises Refused when a node will not test now."""
    request = replace(
        request,
        ranks=group.ranks,
        first_rank=0,
        ranks_here=group.ranks_per_node,
        members=tuple(endpoint.node for endpoint in group.endpoints),
    )
    try:
        burst = await _start_and_wait(group, request, after_failure_seconds)
    except BaseException:
        await _stop(group.endpoints)
        raise
    _raise_if_stopped(burst)
    return burst


async def _start_and_wait(group: Group, request: BurstRequest, after_failure_seconds: float) -> Burst:
    first, *others = group.endpoints
    ready = await _start(first, request)
    if isinstance(ready, Trouble):
        await _stop(group.endpoints)
        return Burst(request, troubles=(ready,))
    parts = [
        replace(request, first_rank=number * group.ranks_per_node, unique_id=ready.unique_id)
        for number in range(1, len(group.endpoints))
    ]
    answers = await _start_all(others, parts)
    if troubles := tuple(one for one in answers if isinstance(one, Trouble)):
        failed = {one.node for one in troubles}
        await _stop(group.endpoints)
        started = [endpoint for endpoint in group.endpoints if endpoint.node not in failed]
        burst = await _wait(started, request, after_failure_seconds)
        return replace(burst, troubles=troubles)
    return await _wait(group.endpoints, request, after_failure_seconds)


async def _start_all(
    endpoints: Sequence[GroupEndpoint], requests: Sequence[BurstRequest]
) -> list[BurstReady | Trouble]:
    """Start at once on all of them; a refusal is raised only when each has answered, so that each can be stopped."""
    starts = (_start(endpoint, request) for endpoint, request in zip(endpoints, requests, strict=True))
    answers = await asyncio.gather(*starts, return_exceptions=True)
    for answer in answers:
        if isinstance(answer, BaseException):
            raise answer
    return [answer for answer in answers if not isinstance(answer, BaseException)]


async def _start(endpoint: GroupEndpoint, request: BurstRequest) -> BurstReady | Trouble:
    try:
        return await endpoint.start(request)
    except ProbeError as error:
        return Trouble(error.reason, error.summary, endpoint.node)
    except Unreachable as error:
        return Trouble("unreachable", str(error), endpoint.node)


async def _wait(endpoints: Sequence[GroupEndpoint], request: BurstRequest, after_failure_seconds: float) -> Burst:
    waits = {asyncio.create_task(endpoint.wait()): endpoint for endpoint in endpoints}
    try:
        pending = await _until_failure(waits)
        if pending:
            _, late = await asyncio.wait(pending, timeout=after_failure_seconds)
            await _stop([waits[task] for task in late])
        if waits:
            await asyncio.wait(waits)
    finally:
        for task in waits:
            task.cancel()
    return _collected(request, waits)


async def _until_failure(waits: Mapping[asyncio.Task[BurstOutcome], GroupEndpoint]) -> set[asyncio.Task[BurstOutcome]]:
    """Wait for all, or until one has failed; return those that still run."""
    pending = set(waits)
    while pending:
        done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
        if any(map(_failed, done)):
            break
    return pending


def _failed(task: asyncio.Task[BurstOutcome]) -> bool:
    if task.exception():
        return True
    return any(rank.ended is not Ended.EXIT or rank.exit_status != 0 for rank in task.result().ranks)


def _collected(request: BurstRequest, waits: Mapping[asyncio.Task[BurstOutcome], GroupEndpoint]) -> Burst:
    outcomes: dict[str, BurstOutcome] = {}
    troubles: list[Trouble] = []
    for task, endpoint in waits.items():
        try:
            outcomes[endpoint.node] = task.result()
        except ProbeError as error:
            troubles.append(Trouble(error.reason, error.summary, endpoint.node))
        except Unreachable as error:
            troubles.append(Trouble("unreachable", str(error), endpoint.node))
    return Burst(request, outcomes, tuple(troubles))


def _raise_if_stopped(burst: Burst) -> None:
    """A burst that a node ended, as when somebody paused, was never a verdict."""
    for node, outcome in burst.outcomes.items():
        said = [outcome.detail, *(rank.detail for rank in outcome.ranks if rank.ended is Ended.STOPPED)]
        for reason in said:
            if reason in STOPPED_FOR:
                raise Refused(reason, f"{node}: the burst was stopped ({reason})")


async def _stop(endpoints: Sequence[GroupEndpoint]) -> None:
    await asyncio.gather(*(endpoint.stop() for endpoint in endpoints), return_exceptions=True)
