"""One fault from start to end: made, seen at the gate that leads, undone, and over. Each step is told of at once."""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from deploy.faults.sights import Seen
from deploy.lab_k8s.breakage import VICTIM
from deploy.lab_k8s.cases import Case, Sight, Steady, Takeover
from deploy.lab_k8s.gates import Gates, View, cell

POLL_SECONDS = 3.0
OPEN_LIMIT_SECONDS = 1800.0
NOBODY = "no gate leads"
NOTHING_SHOWN: Mapping[str, Any] = {"status": "", "reason": NOBODY, "summary": ""}


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table. ``recovered_seconds`` is None where the pool did not open again in time."""

    case: str
    place: str
    wanted: str
    seen: Seen
    recovered_seconds: float | None


def drive(gates: Gates, case: Case) -> list[Row]:
    """Return a row for each of the case's sights. The fault is undone in any case."""
    cluster = gates.cluster
    wait_until_open(gates)
    case.prepare(cluster)
    leader, _ = gates.leading()
    began = time.monotonic()
    try:
        case.make(cluster)
        rows = [(sight, _told(gates, sight, began, leader)) for sight in case.sights]
    finally:
        undone = time.monotonic()
        case.undo(cluster)
    recovered = wait_until_open(gates, since=undone)
    cluster.say(f"    undone, {'NOT open again' if recovered is None else f'open again after {recovered:.0f} s'}")
    return [Row(case.title, sight.place, sight.wanted, seen, recovered) for sight, seen in rows]


def wait_until_open(gates: Gates, since: float | None = None) -> float | None:
    """Return the seconds until the gate is open, None where OPEN_LIMIT_SECONDS pass first."""
    began = time.monotonic() if since is None else since
    while time.monotonic() < began + OPEN_LIMIT_SECONDS:
        _, view = gates.leading()
        if view and view["is_open"]:
            return time.monotonic() - began
        time.sleep(POLL_SECONDS)
    return None


def _told(gates: Gates, sight: Sight | Steady | Takeover, began: float, leader: str) -> Seen:
    seen = _see(gates, sight, began, leader)
    mark = "as stated" if seen.as_wanted else f"NOT as stated, {sight.wanted} wanted"
    shown = " ".join(filter(None, (seen.status, seen.reason)))
    gates.cluster.say(f"    {sight.place}: {shown} after {seen.seconds:.0f} s, {mark}")
    if seen.summary:
        gates.cluster.say(f"      {seen.summary}")
    return seen


def _see(gates: Gates, sight: Sight | Steady | Takeover, began: float, leader: str) -> Seen:
    if isinstance(sight, Steady):
        return _watch(gates, sight, began)
    limit = began + sight.limit_seconds
    look: Callable[[], Seen] = (
        (lambda: _finding(gates, sight, began))
        if isinstance(sight, Sight)
        else (lambda: _other_leader(gates, leader, began))
    )
    while not (seen := look()).as_wanted and time.monotonic() < limit:
        time.sleep(POLL_SECONDS)
    return seen


def _finding(gates: Gates, sight: Sight, began: float) -> Seen:
    shown = [one for one in _findings(gates.leading()[1], sight.node) if one["probe"] == sight.probe]
    # A probe has a finding for each of its subjects.
    found = next((one for one in shown if _is_stated(one, sight)), shown[0] if shown else NOTHING_SHOWN)
    as_wanted = _is_stated(found, sight)
    return Seen(as_wanted, found["status"], found["reason"], found["summary"], time.monotonic() - began)


def _is_stated(found: Mapping[str, Any], sight: Sight) -> bool:
    return found["status"] == sight.status and (not sight.reasons or found["reason"] in sight.reasons)


def _findings(view: View | None, node: str) -> Iterator[Mapping[str, Any]]:
    for pool in view["pools"] if view else ():
        for row in pool["nodes"]:
            if row["name"] == node:
                for one in row["cells"]:
                    yield from one["findings"]


def _watch(gates: Gates, sight: Steady, began: float) -> Seen:
    shown: dict[tuple[str, str], str] = {}
    while True:
        _, view = gates.leading()
        found = cell(view, VICTIM, sight.check) if view else {}
        status = found.get("status", NOBODY)
        for one in found.get("findings", ()) or ({"reason": "", "summary": ""},):
            shown.setdefault((status, one["reason"]), one["summary"])
        if status in sight.never or time.monotonic() > began + sight.seconds:
            break
        time.sleep(POLL_SECONDS)
    bad = [key for key in shown if key[0] in sight.never]
    # Where nobody ever answered nothing was seen, and so nothing that is well.
    is_steady = not bad and any(status != NOBODY for status, _ in shown)
    statuses, reasons = (", ".join(dict.fromkeys(key[part] for key in shown if key[part])) for part in (0, 1))
    summary = shown[bad[0]] if bad else ""
    return Seen(is_steady, statuses, reasons, summary, time.monotonic() - began)


def _other_leader(gates: Gates, leader: str, began: float) -> Seen:
    now, view = gates.leading()
    leads = now not in ("", leader)
    # Paths take minutes to be tested anew: it is open by what it was handed.
    is_open = bool(view and view["is_open"])
    return Seen(
        leads and is_open,
        "another leads" if leads else "",
        "",
        str(view["banner"]) if view else NOBODY,
        time.monotonic() - began,
    )
