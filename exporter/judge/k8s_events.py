"""The verdict on events or on a pod's status: why the pod does not run, and whether capacity lacks.

Events are best effort, so none of failure is no pass. Of several the last one counts: the pod had come so far. One that
the pod has come past since is no failure now, nor is it a pass.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from exporter.judge.judgement import Judgement
from exporter.judge.k8s_paste import Paste, items_of, read_paste
from exporter.judge.k8s_recovered import (
    Moment,
    is_past,
    moment_of_line,
    moment_of_object,
    progress_in_lines,
    progress_in_objects,
)
from exporter.judge.requirements import Requirement
from probes import Status
from probes.resources._outcome import Outcome, classify

KIND = "events"
_REASONS = (
    "FailedScheduling|UnexpectedAdmissionError|AdmissionError|TopologyAffinityError|OutOf[\\w./-]+|Unschedulable|"
    "FailedCreatePodSandBox|FailedPrepareDynamicResources|FailedCreate|FailedMount|FailedAttachVolume|"
    "CreateContainerConfigError|CreateContainerError|RunContainerError|StartError|ErrImagePull|ImagePullBackOff|"
    "InvalidImageName|CrashLoopBackOff|BackOff|OOMKilled|Preempted|Preempting|Evicted|TaintManagerEviction|NodeAffinity|"
    "NodeShutdown|Failed(?=\\s)"
)
_REASON = re.compile(rf"(?<![\w.-])({_REASONS})(?![\w-])")
_ORDINARY = re.compile(r"^\s*(?:\S+\s+)?Normal\s")
_OTHER = re.compile(r"^\s*(?:\S+\s+)?Warning\s")
_REPEATED = re.compile(r"\(x(\d{1,7}) over [^)]*\)|(?<=\s)x(\d{1,7})(?=\s)")
_PHASES = "Pending|Running|Succeeded|Failed|Unknown"
_PHASE = re.compile(rf"^[ \t]*(?:phase|Status):[ \t]+({_PHASES})[ \t]*$", re.MULTILINE)
_BARE = re.compile(
    r"\d/\d{1,7} nodes are available|Allocate failed due to|Topology locality|failed to (?:create|set ?up)"
)


@dataclass(frozen=True, slots=True)
class Said:
    """One refusal as the text has it, with how often it was said. ``past`` says that the pod came further since."""

    outcome: Outcome
    count: int
    moment: Moment
    past: bool = False


def judge_events(text: str, _requirements: Sequence[Requirement]) -> Judgement:
    """Judge events as kubectl prints them, as JSON or YAML, or the status of a pod."""
    paste = read_paste(text)
    said = list(_said(paste))
    values = _values(paste, said)
    warnings = ["the last line has no end: it may be cut"] if not paste.ended else []
    if paste.elided:
        warnings.append("lines stand for text that was left out")
    if not said:
        ordinary = any(_ORDINARY.match(line) for line in paste.lines)
        why, found = ("no_failure_seen", "no failure") if ordinary else ("unparsable", "no event that is known")
        return Judgement(
            KIND, Status.UNKNOWN, why, f"{KIND}: {found} found, the pod's status wanted", values, (), warnings
        )
    standing = [one for one in said if not one.past]
    if not standing:
        found = f"{said[-1].outcome.sentence[:200]}, and the pod came past that, found"
        summary = f"{KIND}: {found}, the pod's status wanted"
        rows = [_row(one) for one in said]
        return Judgement(KIND, Status.UNKNOWN, "recovered", summary, values, rows, warnings)
    last = standing[-1].outcome
    if not last.refusal.whole:
        warnings.append("the scheduler's message is cut: there may be more causes")
    summary = f"{KIND}: {last.reason or last.code}: {last.sentence[:300]}"
    return Judgement(KIND, Status.FAIL, last.code, summary, values, [_row(one) for one in said], warnings)


def _said(paste: Paste) -> Iterator[Said]:
    items = list(items_of(paste.objects))
    found = [
        replace(one, moment=moment_of_object(place, item))
        for place, item in enumerate(items)
        for one in _in_object(item)
    ]
    progress = progress_in_objects(items) if found else progress_in_lines(paste.lines)
    for one in found or _in_text(paste.text):
        yield replace(one, past=is_past(one.outcome.stage, one.moment, progress))


def _in_text(text: str) -> Iterator[Said]:
    for reason, message, moment in _blocks(text):
        if outcome := classify(reason, message):
            repeated = _REPEATED.search(message)
            yield Said(outcome, int(repeated[1] or repeated[2]) if repeated else 1, moment)


def _in_object(item: Mapping[str, Any]) -> Iterator[Said]:
    """What an event, or a pod with its status, says."""
    status = item.get("status")
    for one in (item, status if isinstance(status, dict) else {}):
        yield from _one(one)
        for inner in _objects(one.get("conditions")):
            if str(inner.get("status")) == "False":
                yield from _one(inner)
        for container in _objects(one.get("containerStatuses")):
            state = container.get("state")
            waiting = state.get("waiting") if isinstance(state, dict) else None
            yield from _one(waiting if isinstance(waiting, dict) else {})


def _one(item: Mapping[str, Any]) -> Iterator[Said]:
    reason, message = item.get("reason"), item.get("message") or item.get("note") or ""
    series = item.get("series")
    count = item.get("count") or (series.get("count") if isinstance(series, dict) else None) or 1
    if reason and str(item.get("type", "Warning")) != "Normal" and (found := classify(str(reason), str(message))):
        yield Said(found, int(count) if str(count)[:9].isdigit() else 1, Moment(0))


def _objects(value: Any) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _blocks(text: str) -> list[tuple[str, str, Moment]]:
    """Each reason with the text up to the next event; long messages are often wrapped over lines."""
    blocks: list[tuple[str, list[str], Moment]] = []
    open_block = False
    for place, line in enumerate(text.split("\n")):
        match = None if _ORDINARY.match(line) else _REASON.search(line)
        if match:
            blocks.append((match[1], [line[match.end() :]], moment_of_line(place, line)))
            open_block = True
        elif _ORDINARY.match(line) or _OTHER.match(line) or not line.strip():
            open_block = False
        elif open_block:
            blocks[-1][1].append(line.strip())
    if not blocks and _BARE.search(text):
        return [("", text.strip(" \n`'\""), Moment(0))]
    return [(_plain(reason), " ".join(parts).strip(" `'\""), moment) for reason, parts, moment in blocks]


def _plain(reason: str) -> str:
    """A container's failure has "Failed" for its reason; its message tells all."""
    return "" if reason in {"Failed", "FailedCreate"} else reason


def _values(paste: Paste, said: Sequence[Said]) -> dict[str, Any]:
    phase = _PHASE.search(paste.text)
    values: dict[str, Any] = {"events": len(said), "phase": phase[1] if phase else None, "cut": not paste.ended}
    return values | (_row(said[-1]) if said else {})


def _row(said: Said) -> dict[str, Any]:
    one = said.outcome
    causes = dict(one.refusal.causes)
    row: dict[str, Any] = {
        "reason": one.reason,
        "code": one.code,
        "cause": one.cause,
        "stage": one.stage.value,
        "resource": one.resource or None,
        "capacity_shortage": one.shortage,
        "retryable_by_scheduler": one.retried,
        "count": said.count,
    }
    if one.requested is not None:
        row |= {"requested": one.requested, "available": one.available}
    if one.refusal.nodes_total is not None:
        total = one.refusal.nodes_total
        row |= {"nodes_total": total, "nodes_available": one.refusal.nodes_available, "causes": causes}
        row |= {"causes_sum": sum(causes.values()), "sum_exceeds_nodes": sum(causes.values()) > total}
    return row
