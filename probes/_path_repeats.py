"""A warm-up that is kept and not judged, then repeats until one of them shows a problem."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from probes._endpoint import Path, TestRequest
from probes._path import CONNECT_PAUSES_SECONDS, Exchange, end_of, exchange
from probes._path_counters import Allowance, PortView, judge_counters, view_ports
from probes._path_problem import Ends, Problem
from probes._path_reading import Reading, read_outcome
from probes._path_verdict import judge_exchange

DEFAULT_MTU_BYTES = 1024


@dataclass(frozen=True, slots=True)
class Repeat:
    """One judged test: its problem if it had one, what the client printed, and what both ports counted."""

    problem: Problem | None
    reading: Reading
    views: tuple[PortView, ...] = ()


@dataclass(frozen=True, slots=True)
class Tested:
    """All that was tried, by name and in order, and the judged repeats among it; only the last may have a problem."""

    exchanges: Mapping[str, Exchange] = field(default_factory=dict)
    repeats: tuple[Repeat, ...] = ()

    @property
    def problem(self) -> Problem | None:
        """What keeps the path from passing."""
        return self.repeats[-1].problem if self.repeats else None


async def repeat_test(
    path: Path,
    request: TestRequest,
    repeats: int,
    *,
    allowance: Allowance,
    warm_up: bool = True,
    pauses_seconds: Sequence[float] = CONNECT_PAUSES_SECONDS,
) -> Tested:
    """Warm up once, then test up to ``repeats`` times. Raises Refused when a node will not test now."""
    exchanges: dict[str, Exchange] = {}
    if warm_up:
        exchanges["warm-up"] = await exchange(path, request, pauses_seconds)
    done: list[Repeat] = []
    for number in range(1, repeats + 1):
        name = f"repeat {number}"
        exchanges[name] = await exchange(path, request, pauses_seconds)
        done.append(judge_repeat(exchanges[name], path, allowance))
        if done[-1].problem:
            break
    return Tested(exchanges, tuple(done))


def judge_repeat(one: Exchange, path: Path, allowance: Allowance) -> Repeat:
    """Judge one test by its outputs first and by the ports' counters then."""
    ends = Ends(end_of(path.client), end_of(path.server))
    reading = read_outcome(one.request, one.client)
    problem = judge_exchange(one, ends)
    if one.client is None or one.server is None:
        return Repeat(problem, reading)
    mtu_bytes = path_mtu_bytes(one, reading)
    views = view_ports(one.request, one.client, one.server, ends, mtu_bytes)
    if problem is None:
        problem = judge_counters(one.request, views, mtu_bytes, allowance)
    elif problem.reason == "no_completion":
        problem = replace(problem, sentence=f"{problem.sentence}; {_moved(views)}")
    return Repeat(problem, reading, views)


def path_mtu_bytes(one: Exchange, reading: Reading) -> int:
    """The path MTU that the test used: as printed, as asked for, or the ports' active one."""
    ready = one.client.ready if one.client else None
    active = ready.active_mtu_bytes if ready else 0
    return reading.mtu_bytes or one.request.path_mtu_bytes or active or DEFAULT_MTU_BYTES


def _moved(views: Sequence[PortView]) -> str:
    parts = (f"{view.end.node} sent {view.moved.sent_bytes}, received {view.moved.received_bytes}" for view in views)
    return f"bytes counted: {'; '.join(parts)}"
