"""Whether a pod has come past a refusal since: it was scheduled, or a container of it started, after it was told.

A pod that the kubelet did not admit is Failed for good, and one that crashes starts each time, so neither recovers so.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from probes.resources._outcome_rules import Stage

_ORDINARY = re.compile(r"^\s*(?:\S+\s+){0,2}Normal\s+(Scheduled|Started)\s")
_AGE = re.compile(r"(?<!\S)((?:\d{1,6}[smhd]){1,3})(?=\s)")
_PART = re.compile(r"(\d+)([smhd])")
_OBJECT = re.compile(r"(?<!\S)pods?/([\w.-]+)")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_PASSED = {"Scheduled": frozenset({Stage.SCHEDULING}), "Started": frozenset({Stage.SCHEDULING, Stage.START})}


@dataclass(frozen=True, slots=True)
class Moment:
    """Where an event stands: its place in the text, its time in seconds if there is one, and the pod if it is named."""

    place: int
    seconds: float | None = None
    pod: str = ""

    def before(self, later: "Moment") -> bool:
        """Whether the other is of the same pod and came after; where no time tells, the text's order does."""
        if self.pod and later.pod and self.pod != later.pod:
            return False
        if self.seconds is None or later.seconds is None or self.seconds == later.seconds:
            return self.place < later.place
        return self.seconds < later.seconds


@dataclass(frozen=True, slots=True)
class Progress:
    """That the pod was ``Scheduled`` or ``Started``."""

    reason: str
    moment: Moment


def moment_of_line(place: int, line: str) -> Moment:
    """Read a line as kubectl prints it."""
    age, pod = _AGE.search(line), _OBJECT.search(line)
    seconds = -float(sum(int(count) * _SECONDS[unit] for count, unit in _PART.findall(age[1]))) if age else None
    return Moment(place, seconds, pod[1] if pod else "")


def moment_of_object(place: int, item: Mapping[str, Any]) -> Moment:
    """Read an event as the API has it."""
    series, about = item.get("series"), item.get("involvedObject") or item.get("regarding")
    last = series.get("lastObservedTime") if isinstance(series, dict) else None
    written = last or item.get("lastTimestamp") or item.get("eventTime") or ""
    try:
        seconds = datetime.fromisoformat(str(written)).timestamp()
    except (ValueError, OverflowError, OSError):
        seconds = None
    return Moment(place, seconds, str(about.get("name", "")) if isinstance(about, dict) else "")


def progress_in_lines(lines: Iterable[str]) -> list[Progress]:
    """Return what went on, as kubectl prints it."""
    found = [(place, line, _ORDINARY.match(line)) for place, line in enumerate(lines)]
    return [Progress(match[1], moment_of_line(place, line)) for place, line, match in found if match]


def progress_in_objects(items: Iterable[Mapping[str, Any]]) -> list[Progress]:
    """Return what went on, of events as the API has them."""
    return [
        Progress(str(one["reason"]), moment_of_object(place, one))
        for place, one in enumerate(items)
        if one.get("type") == "Normal" and one.get("reason") in _PASSED
    ]


def is_past(stage: Stage, moment: Moment, progress: Iterable[Progress]) -> bool:
    """Whether a refusal at this stage was told before the pod came further."""
    return any(stage in _PASSED[one.reason] and moment.before(one.moment) for one in progress)
