"""How far a test pod has come, and whether anything more is to come of it. Pure."""

from dataclasses import dataclass

from probes._workloads import Pod
from probes.resources._outcome import outcome_of

ENDED = ("Failed", "Succeeded")


@dataclass(frozen=True, slots=True)
class Patience:
    """Seconds: between two looks, for a scheduler, for a start that fails, for a deletion, and at the end of it all."""

    look_seconds: float = 1.0
    schedule_seconds: float = 30.0
    start_seconds: float = 90.0
    removal_seconds: float = 60.0
    farewell_seconds: float = 0.5


@dataclass(frozen=True, slots=True)
class Course:
    """``pod`` is as the API said last, ``waited`` the seconds since it was made, ``reported_at`` when it had told all.

    ``started`` says that it was seen running, ``vanished`` that somebody else deleted it.
    """

    pod: Pod
    waited: float = 0.0
    started: bool = False
    vanished: bool = False
    reported_at: float | None = None


def is_over(course: Course, patience: Patience, *, limit_seconds: float, hold_seconds: float) -> bool:
    """Whether nothing more is to come, or may be waited for."""
    pod, waited = course.pod, course.waited
    if course.vanished or pod.deleting or pod.phase in ENDED or waited >= limit_seconds:
        return True
    if course.reported_at is not None:
        return waited >= course.reported_at + hold_seconds
    # A scheduler or a kubelet that says why not goes on trying; one that says nothing may be slow.
    patient_seconds = patience.start_seconds if pod.node else patience.schedule_seconds
    return not course.started and waited >= patient_seconds and outcome_of(pod) is not None
