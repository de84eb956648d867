"""A measured value passes only against an agreed target, and fails only once it was measured again.

The number judged is the median, over the last runs, of value over target, turned so that under 1 means missed
(``value / at_least`` or ``at_most / value``). Page, metric and gate all show this one number.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import median_high

from probes import Finding, Measured, Owner, Reason, Status

WINDOW_RUNS = 5

REASONS = {
    "no_target": Reason("measured cleanly, but nobody agreed what is enough", Owner.APPLICATION),
    "unconfirmed": Reason("a target was missed and has not been measured again yet", Owner.NETWORK),
    "missed_target": Reason("the median of the last runs misses the agreed target", Owner.NETWORK),
    "not_measured": Reason("the run did not measure what the target speaks about", Owner.APPLICATION),
}


@dataclass(frozen=True, slots=True)
class Target:
    """One agreed limit, in base units: exactly one of ``at_least`` and ``at_most``; ``source`` says who agreed."""

    metric: str
    source: str
    at_least: float | None = None
    at_most: float | None = None
    quantile: float = 0.0

    def ratio(self, value: float) -> float:
        """Value over target, direction-normalised: under 1 is missed; a value that is no measurement (<= 0) is 0."""
        if value <= 0:
            return 0.0
        if self.at_least is not None:
            return value / self.at_least
        assert self.at_most is not None
        return self.at_most / value


@dataclass(frozen=True, slots=True)
class Judged:
    """One target with the last runs' values (oldest first) and the median ratio; None when nothing was measured."""

    target: Target
    values: tuple[float, ...]
    ratio: float | None


def judge_target(target: Target, window: Sequence[Sequence[Measured]]) -> Judged:
    """``window`` holds the measured values of the last runs, oldest first; only the last WINDOW_RUNS count."""
    values = tuple(
        measured.value
        for run in window[-WINDOW_RUNS:]
        for measured in run
        if (measured.metric, measured.quantile) == (target.metric, target.quantile)
    )
    ratio = median_high(target.ratio(value) for value in values) if values else None
    return Judged(target, values, ratio)


def apply_targets(
    finding: Finding, targets: Iterable[Target], window: Sequence[Sequence[Measured]]
) -> tuple[Finding, tuple[Judged, ...]]:
    """Hold a clean, measuring finding against its targets; ``window`` ends with this run. Others stay as they are."""
    if finding.status is not Status.PASS or not finding.measured:
        return finding, ()
    judged = tuple(judge_target(target, window) for target in targets)
    if not judged:
        return _as(finding, Status.UNKNOWN, "no_target", "no agreed target in the plan, one with a source needed"), ()
    for one in judged:
        if problem := _problem(finding, one):
            return _as(finding, *problem), judged
    return finding, judged


def _problem(finding: Finding, judged: Judged) -> tuple[Status, str, str] | None:
    target = judged.target
    latest = next(
        (m.value for m in finding.measured if (m.metric, m.quantile) == (target.metric, target.quantile)), None
    )
    if latest is None or judged.ratio is None:
        return Status.UNKNOWN, "not_measured", f"{_name(target)} was not measured, {_wanted(target)} wanted"
    found = f"{_name(target)} {latest:.6g} found, {_wanted(target)} wanted"
    if judged.ratio < 1 and len(judged.values) > 1:
        return Status.FAIL, "missed_target", f"{found} ({judged.ratio:.2f} of it, median of {len(judged.values)} runs)"
    if target.ratio(latest) < 1:
        return Status.UNKNOWN, "unconfirmed", f"{found}; to be measured again"
    return None


def _as(finding: Finding, status: Status, reason: str, sentence: str) -> Finding:
    return replace(finding, status=status, reason=reason, summary=f"{finding.subject}: {sentence}")


def _name(target: Target) -> str:
    return f"{target.metric} p{target.quantile * 100:g}" if target.quantile else target.metric


def _wanted(target: Target) -> str:
    word, limit = ("at least", target.at_least) if target.at_least is not None else ("at most", target.at_most)
    return f"{word} {limit:.6g}"
