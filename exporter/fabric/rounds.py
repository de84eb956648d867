"""Who tests whom next: the oldest due path first, on nodes that are free, with retests ahead of everything.

All tests share one cycle: the sample of paths changes only once each of its paths was tested by each test, so that
a bandwidth test finds its path's connectivity known. Everything here is pure; time comes in as Unix seconds.
"""

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from operator import attrgetter

from exporter.fabric.expected import ExpectedPath, PathEnd, path_named
from exporter.gate.node_checks import COMES_FIRST
from probes import Status

FAILED_SOONER = 10
UNCONFIRMED = "unconfirmed"
FAILED_AT_LEAST_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Result:
    """The last run of one test on one path: when it was received, its worst status and that finding's reason."""

    received: float
    status: Status
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Cycle:
    """The number of the sample under test, and since when."""

    number: int
    started: float


@dataclass(frozen=True, slots=True)
class Fabric:
    """What limits tests now: nodes busy with one, how many run, how many may, and nodes that cannot take part."""

    busy: AbstractSet[str]
    running: int
    tests_at_once: int
    unready: Mapping[str, str]


@dataclass(frozen=True, slots=True, order=True)
class Due:
    """A path whose turn it is: the lowest rank goes first, then who waits since the earliest Unix second."""

    rank: int
    since: float
    path: ExpectedPath


def next_due(
    expected: Iterable[ExpectedPath],
    results: Mapping[str, Result],
    blocked: AbstractSet[str],
    fabric: Fabric,
    *,
    now: float,
    every_seconds: float,
) -> Due | None:
    """Return the path to test now, or None. ``results`` and ``blocked`` (targets) are of one test of the plan."""
    if fabric.running >= fabric.tests_at_once:
        return None
    free = [
        path
        for path in expected
        if path.target not in blocked and not path.nodes & (fabric.busy | fabric.unready.keys())
    ]
    turns = [Due(*turn_of(results.get(path.target), now, every_seconds), path) for path in free]
    return min((turn for turn in turns if turn.since <= now), default=None)


def without_unready(
    expected: Iterable[ExpectedPath], unready: Mapping[str, str]
) -> tuple[tuple[ExpectedPath, ...], tuple[tuple[ExpectedPath, str], ...]]:
    """Split paths into those that can be tested and those left out, each with why ("node-b silent")."""
    testable: list[ExpectedPath] = []
    left_out: list[tuple[ExpectedPath, str]] = []
    for path in expected:
        missing = [f"{node} {unready[node]}" for node in sorted(path.nodes) if node in unready]
        if missing:
            left_out.append((path, ", ".join(missing)))
        else:
            testable.append(path)
    return tuple(testable), tuple(left_out)


def blocked_by(
    path: ExpectedPath, check: str, passed: Mapping[str, AbstractSet[str]], connected: AbstractSet[str]
) -> str:
    """Why a test of this check must wait, empty when it need not.

    ``passed`` holds the open checks of each node; ``connected`` the targets whose connectivity is open. A path test
    waits for access and runtime of its two ends alone, a transfer also for the connectivity of its own path.
    """
    for node in sorted(path.nodes):
        for one in COMES_FIRST:
            if one not in passed.get(node, frozenset()):
                return f"{node}: {one} has not passed, it comes first"
    if check == "transfers" and path.target not in connected:
        return f"{path.target}: connectivity has not passed, it comes first"
    return ""


def next_cycle(
    cycle: Cycle,
    expected: Sequence[ExpectedPath],
    results_by_test: Sequence[Mapping[str, Result]],
    *,
    now: float,
    every_seconds: float,
) -> Cycle:
    """Return the following cycle once every test has a result of this one on each path, and its time is over.

    ``expected`` holds only the paths that can be tested now; ``every_seconds`` is that of the rarest test. Where the
    clock was set back, the cycle begins again now.
    """
    if cycle.started > now:
        return Cycle(cycle.number, now)
    since = cycle.started
    if not expected or now < since + every_seconds:
        return cycle
    done = all(
        path.target in results and results[path.target].received >= since
        for results in results_by_test
        for path in expected
    )
    return Cycle(cycle.number + 1, now) if done else cycle


def sample_to_judge(cycle: Cycle, testable: Iterable[ExpectedPath], results: Mapping[str, Result]) -> int:
    """Return the sample that a verdict on one test needs: the one under test once each path of it has its result.

    Until then it is the one before, so that a sample that has just begun closes nothing.
    """
    whole = all(path.target in results and results[path.target].received >= cycle.started for path in testable)
    return cycle.number if whole else max(0, cycle.number - 1)


def must_pass_again(result: Result) -> bool:
    """Whether a path is tested until it passes, also once its sample is over."""
    return result.status is Status.FAIL or result.reason == UNCONFIRMED


def telling(
    results: Mapping[str, Result], counting: Mapping[str, Result], *, now: float, fresh_seconds: float
) -> frozenset[str]:
    """Return the targets that speak whatever their sample: faults until they pass, all else as long as it is fresh.

    What an old sample once proved may grow old; it is not tested again before its sample comes round.
    """
    fresh = (target for target, result in counting.items() if now - result.received <= fresh_seconds)
    return frozenset((*fresh, *(target for target, result in results.items() if must_pass_again(result))))


def judged_paths(
    ends: Iterable[PathEnd], sample: Iterable[ExpectedPath], tested: AbstractSet[str]
) -> tuple[ExpectedPath, ...]:
    """Return the paths that a verdict needs: a sample, and what else was ``tested`` and is still planned."""
    found = {path.target: path for path in sample}
    if others := tested - found.keys():
        by_name = {str(end): end for end in ends}
        found |= {target: path for target in others if (path := path_named(target, by_name))}
    return tuple(sorted(found.values(), key=attrgetter("target")))


def is_due(result: Result | None, *, now: float, every_seconds: float) -> bool:
    """Whether a path with this last result is to be tested now."""
    return turn_of(result, now, every_seconds)[1] <= now


def turn_of(result: Result | None, now: float, every_seconds: float) -> tuple[int, float]:
    """Rank, then due time: retests, then never tested ones, then by age; what did not pass comes round sooner."""
    # A result of the future is one from before the clock was set back; nobody can wait for its turn.
    if result is None or result.received > now:
        return 1, 0.0
    if result.reason == UNCONFIRMED:
        return 0, result.received
    if result.status is Status.PASS:
        return 2, result.received + every_seconds
    sooner_seconds = max(FAILED_AT_LEAST_SECONDS, every_seconds / FAILED_SOONER)
    return 2, result.received + min(every_seconds, sooner_seconds)
