"""One path probe runs once, within its limit, and becomes one Run; a test that a node refused replaces nothing."""

from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from typing import Protocol

from exporter.assignment import ProbeSpec
from exporter.ledger import Ledger, Record
from exporter.observe import Attempt, RunContext, attempt_run, run_of
from probes import Finding, ProbeError, Run, Status, Subject
from probes._endpoint import Path, Refused, Unreachable


class PathProbe(Protocol):
    """A probe of one path between two ends."""

    async def run(self, path: Path) -> Iterable[Finding]:
        """Test the path and judge what was seen."""


def path_target(path: Path) -> str:
    """Name a path in runs: ``a:mlx5_0>b:mlx5_0``, the client first."""
    return f"{path.client.node}:{path.client.hca}>{path.server.node}:{path.server.hca}"


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
    refusals: list[Refused] = []

    async def test() -> Iterable[Finding]:
        try:
            return await probe.run(path)
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
    return run_of(attempt, path_target(path), spec, context, times=(started, clock()))


def keep_run(run: Run, spec: ProbeSpec, ledger: Ledger, deferrals: Counter[str], *, pool: str) -> Record | None:
    """Put the run in the ledger, under its targets; a deferred one is only counted, by its reason."""
    if run.outcome == "deferred":
        deferrals[run.findings[0].reason] += 1
        return None
    return ledger.put(run, targets=spec.targets, fresh_seconds=spec.fresh_seconds, pool=pool)
