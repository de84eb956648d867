"""Several things may be wrong with one subject; one finding says all of them, and the gravest gives the reason."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from probes import Evidence, Finding, Sample, Status, Subject


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong, or (with UNKNOWN) that could not be told: "found, wanted" without the subject."""

    reason: str
    sentence: str
    status: Status = Status.FAIL


@dataclass(frozen=True, slots=True)
class Shown:
    """What a finding carries besides its verdict."""

    samples: tuple[Sample, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    facts: Mapping[str, str] | None = None


NOTHING = Shown()


def unknown(reason: str, sentence: str) -> Problem:
    """A problem of not knowing."""
    return Problem(reason, sentence, Status.UNKNOWN)


def verdict(subject: Subject, problems: Sequence[Problem], passed: str, shown: Shown = NOTHING) -> Finding:
    """PASS with the sentence ``passed`` where nothing is wrong; else the first FAIL, or the first UNKNOWN, leads."""
    ordered = sorted(problems, key=lambda problem: problem.status is not Status.FAIL)
    sentences = "; ".join(problem.sentence for problem in ordered) or passed
    return Finding(
        subject=subject,
        status=ordered[0].status if ordered else Status.PASS,
        reason=ordered[0].reason if ordered else "",
        summary=f"{subject}: {sentences}",
        samples=shown.samples,
        evidence=shown.evidence,
        facts=shown.facts or {},
    )
