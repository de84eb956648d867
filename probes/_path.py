"""One test between two ends: the server first, the client once it is ready, and neither left behind.

Both ends print what they did; both outcomes are kept, whatever happened. Nothing is judged here.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from probes import End, ProbeError
from probes._endpoint import Ended, Endpoint, Outcome, Path, Ready, Refused, TestRequest, Unreachable
from probes.tools.failures import classify

# The client's deadline comes first, so that the server still says what it saw.
SERVER_EXTRA_SECONDS = 2.0
# How long the other end may still go on once one end has failed.
AFTER_FAILURE_SECONDS = 3.0
STOPPED_FOR = frozenset({"gate_lost", "lease_over", "paused", "shutdown", "tests_disabled"})
CONNECT_PAUSES_SECONDS = (0.2, 0.6, 1.8)


@dataclass(frozen=True, slots=True)
class Trouble:
    """An end that could not even start: its reason code, the sentence, and which end."""

    reason: str
    summary: str
    end: End


@dataclass(frozen=True, slots=True)
class Exchange:
    """What one test left: both outcomes (None for an end that never started), or the trouble that prevented it."""

    request: TestRequest
    client: Outcome | None = None
    server: Outcome | None = None
    trouble: Trouble | None = None

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        """The outcomes that there are, the client's first."""
        return tuple(outcome for outcome in (self.client, self.server) if outcome)


def end_of(endpoint: Endpoint) -> End:
    """The node and HCA of an endpoint."""
    return End(endpoint.node, endpoint.hca)


async def exchange(
    path: Path,
    request: TestRequest,
    pauses_seconds: Sequence[float] = CONNECT_PAUSES_SECONDS,
    after_failure_seconds: float = AFTER_FAILURE_SECONDS,
) -> Exchange:
    """Run one test; a refused control connection is tried again, nothing else.

    ``request`` is the client's, without its port. Raises Refused when a node will not test now.
    """
    result = await _once(path, request, after_failure_seconds)
    for pause_seconds in pauses_seconds:
        if not _connect_refused(result.client):
            break
        await asyncio.sleep(pause_seconds)
        result = await _once(path, request, after_failure_seconds)
    _raise_if_stopped(path, result)
    return result


def _raise_if_stopped(path: Path, result: Exchange) -> None:
    """A test that its node ended, as when somebody paused, was never a verdict."""
    for endpoint, outcome in ((path.client, result.client), (path.server, result.server)):
        if outcome and outcome.ended is Ended.STOPPED and outcome.detail in STOPPED_FOR:
            place = f"{endpoint.node} {endpoint.hca}"
            raise Refused(outcome.detail, f"{place}: the test was stopped ({outcome.detail})")


async def _once(path: Path, request: TestRequest, after_failure_seconds: float) -> Exchange:
    try:
        return await _start_and_wait(path, request, after_failure_seconds)
    except BaseException:
        await asyncio.gather(path.client.stop(), path.server.stop(), return_exceptions=True)
        raise


async def _start_and_wait(path: Path, request: TestRequest, after_failure_seconds: float) -> Exchange:
    limit_seconds = request.limit_seconds + SERVER_EXTRA_SECONDS
    ready = await _start(
        path.server, replace(_seen_from(path.server, path.client, request), limit_seconds=limit_seconds)
    )
    if isinstance(ready, Trouble):
        return Exchange(request, trouble=ready)
    if not ready.tcp_port:
        return Exchange(request, server=await path.server.wait())
    started = await _start(
        path.client, replace(_seen_from(path.client, path.server, request), peer_port=ready.tcp_port)
    )
    if isinstance(started, Trouble):
        await path.server.stop()
        return Exchange(request, server=await path.server.wait(), trouble=started)
    return await _wait(path, request, after_failure_seconds)


async def _start(endpoint: Endpoint, request: TestRequest) -> Ready | Trouble:
    try:
        return await endpoint.start(request)
    except ProbeError as error:
        return Trouble(error.reason, error.summary, end_of(endpoint))
    except Unreachable as error:
        return Trouble("unreachable", str(error), end_of(endpoint))


async def _wait(path: Path, request: TestRequest, after_failure_seconds: float) -> Exchange:
    waits = {endpoint: asyncio.create_task(endpoint.wait()) for endpoint in (path.client, path.server)}
    try:
        await asyncio.wait(waits.values(), return_when=asyncio.FIRST_COMPLETED)
        done = [task for task in waits.values() if task.done()]
        if any(map(_failed, done)):
            await asyncio.wait(waits.values(), timeout=0 if any(map(_is_alone, done)) else after_failure_seconds)
            await asyncio.gather(*(endpoint.stop() for endpoint, task in waits.items() if not task.done()))
        await asyncio.wait(waits.values())
    finally:
        for task in waits.values():
            task.cancel()
    return _collected(path, request, waits)


def _collected(path: Path, request: TestRequest, waits: dict[Endpoint, asyncio.Task[Outcome]]) -> Exchange:
    outcomes: dict[Endpoint, Outcome] = {}
    trouble = None
    for endpoint, task in waits.items():
        try:
            outcomes[endpoint] = task.result()
        except ProbeError as error:
            trouble = Trouble(error.reason, error.summary, end_of(endpoint))
        except Unreachable as error:
            trouble = Trouble("unreachable", str(error), end_of(endpoint))
    return Exchange(request, outcomes.get(path.client), outcomes.get(path.server), trouble)


def _failed(task: asyncio.Task[Outcome]) -> bool:
    if task.exception():
        return True
    outcome = task.result()
    return outcome.ended is not Ended.EXIT or outcome.exit_status != 0


def _is_alone(task: asyncio.Task[Outcome]) -> bool:
    """Whether the other end will never hear of this one: there is nothing that it could still say."""
    return not task.exception() and (task.result().ended is Ended.STOPPED or _connect_refused(task.result()))


def _seen_from(endpoint: Endpoint, peer: Endpoint, request: TestRequest) -> TestRequest:
    return replace(request, hca=endpoint.hca, peer=peer.node, peer_hca=peer.hca, peer_port=None)


def _connect_refused(client: Outcome | None) -> bool:
    """Whether the tool itself gave up connecting; a connection that was dropped waits for its deadline instead."""
    if client is None or client.ended is not Ended.EXIT or not client.exit_status:
        return False
    failure = classify(client.stdout, client.stderr)
    return failure is not None and failure.reason == "control_tcp"
