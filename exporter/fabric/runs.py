"""One path or group probe runs once, within its limit, and becomes one Run; a refused test replaces nothing."""

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from typing import Protocol

from exporter.assignment import ProbeSpec
from exporter.ledger import Ledger, Record
from exporter.observe import Attempt, RunContext, attempt_run, run_of
from exporter.plan import Pool
from exporter.plan.digest_of_test import digest_of_test
from probes import Finding, ProbeError, Run, Status, Subject
from probes._endpoint import Path, Refused, Unreachable
from probes._group import Group


class PathProbe(Protocol):
    """A probe of one path between two ends."""

    async def run(self, path: Path) -> Iterable[Finding]:
        """Test the path and judge what was seen."""


def path_target(path: Path) -> str:
    """Name a path in runs: ``a:mlx5_0>b:mlx5_0``, the client first."""
    return f"{path.client.node}:{path.client.hca}>{path.server.node}:{path.server.hca}"


class GroupProbe(Protocol):
    """A probe of a collective in one group of nodes."""

    async def run(self, group: Group) -> Iterable[Finding]:
        """Run the collective and judge what was seen."""


async def run_path(
    probe: PathProbe,
    path: Path,
    spec: ProbeSpec,
    context: RunContext,
    *,
    clock: Callable[[], float],
    slots: AbstractAsyncContextManager[None],
) -> Run:
    """Run the probe on the path while ``slots`` are held; waiting for them does not count against its limit.

    The outcome is ``deferred``, with the refusal as its finding, when a node refused.
    """
    subject = Subject(path.client.node, path.client.hca, peer=path.server.node, peer_device=path.server.hca)
    run = await _attempt(lambda: probe.run(path), subject, spec, clock, slots)
    return run_of(run.attempt, path_target(path), spec, context, times=run.times)


async def run_group(
    probe: GroupProbe,
    group: Group,
    spec: ProbeSpec,
    context: RunContext,
    *,
    clock: Callable[[], float],
    slots: AbstractAsyncContextManager[None],
) -> Run:
    """Run the probe in the group, as ``run_path`` does; the target is the group's name."""
    subject = Subject(group.endpoints[0].node, group=group.name)
    run = await _attempt(lambda: probe.run(group), subject, spec, clock, slots)
    return run_of(run.attempt, group.name, spec, context, times=run.times)


@dataclass(frozen=True, slots=True)
class _Attempted:
    attempt: Attempt
    times: tuple[float, float]


async def _attempt(
    action: Callable[[], Awaitable[Iterable[Finding]]],
    subject: Subject,
    spec: ProbeSpec,
    clock: Callable[[], float],
    slots: AbstractAsyncContextManager[None],
) -> _Attempted:
    refusals: list[Refused] = []

    async def test() -> Iterable[Finding]:
        try:
            return await action()
        except Refused as refused:
            refusals.append(refused)
            return (Finding(subject, Status.UNKNOWN, refused.reason, refused.summary),)
        except Unreachable as error:
            raise ProbeError("unreachable", str(error)) from error

    started = clock()
    try:
        async with slots:
            started = clock()
            attempt = await attempt_run(test, spec.limit_seconds, subject)
    except Refused as refused:
        refusals.append(refused)
        attempt = Attempt((Finding(subject, Status.UNKNOWN, refused.reason, refused.summary),))
    if refusals:
        attempt = replace(attempt, outcome="deferred")
    return _Attempted(attempt, (started, clock()))


def broken_off(run: Run, nodes: Iterable[str]) -> Run:
    """Return the run as one that these nodes refused, since their ends were taken away meanwhile, unless it passed."""
    if all(one.status is Status.PASS for one in run.findings):
        return run
    first, sentence = run.findings[0], f"{', '.join(sorted(nodes))}: the test pod went while it was an end of this test"
    finding = Finding(first.subject, Status.UNKNOWN, "no_test_pod", f"{sentence}, one that stays wanted")
    return replace(run, findings=(finding,), outcome="deferred")


def keep_run(run: Run, spec: ProbeSpec, ledger: Ledger, deferrals: Counter[str], *, pool: Pool) -> Record | None:
    """Put the run in the ledger, under its targets and as planned; a deferred one is only counted, by its reason."""
    if run.outcome == "deferred":
        deferrals[run.findings[0].reason] += 1
        return None
    planned_as = digest_of_test(pool, spec)
    return ledger.put(
        run, targets=spec.targets, fresh_seconds=spec.fresh_seconds, pool=pool.name, planned_as=planned_as
    )
