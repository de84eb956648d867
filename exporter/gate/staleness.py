"""A result counts for a time, and only for the plan, boot, program and machine that it was taken from."""

from collections.abc import Iterable

from exporter.assignment import ProbeSpec
from exporter.gate.changes import BOOT
from exporter.gate.group_results import is_of_test
from exporter.gate.inputs import GateInputs
from exporter.ledger import Record

CLOCK_SLACK_SECONDS = 60.0
SHOWN_DIGITS = 12
_EDITED_POD = "test pod with another template or other probes"
_EDITED_TEST = "test with other settings, targets, groups or ends"


def stale_because(
    record: Record, spec: ProbeSpec, nodes: Iterable[str], inputs: GateInputs, *, planned_as: str = ""
) -> str:
    """Say why the record does not count any more, empty while it does. ``nodes`` are those it depends on.

    ``planned_as`` is as what the pool's test pods, or the test itself, are planned now.
    """
    run = record.run
    assert inputs.plan is not None
    if not record.is_as_planned(inputs.plan.digest, planned_as):
        return _planned_otherwise(record, inputs.plan.digest, planned_as)
    if not compatible(run.program_version, inputs.program_version):
        return f"program version {run.program_version} found, one like {inputs.program_version} wanted"
    changes = (_changed(record, node, inputs) for node in nodes)
    return next((change for change in changes if change), "") or _too_old(record, spec, inputs.now)


def _planned_otherwise(record: Record, plan_digest: str, planned_as: str) -> str:
    if record.planned_as and planned_as:
        found, wanted = record.planned_as[:SHOWN_DIGITS], planned_as[:SHOWN_DIGITS]
        edited = _EDITED_TEST if is_of_test(record.run.target) else _EDITED_POD
        return f"{edited} ({found}) found, one as planned now ({wanted}) wanted"
    found = record.run.plan_digest[:SHOWN_DIGITS] or "none"
    return f"plan changed from {found} to {plan_digest[:SHOWN_DIGITS]}, a run under the new one wanted"


def compatible(found: str, wanted: str) -> bool:
    """Whether two versions judge alike: the same up to the last number."""
    return found.split(".")[:2] == wanted.split(".")[:2]


def seconds_text(seconds: float) -> str:
    """Return ``45 s``, ``12 min`` or ``3.5 h``."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def _changed(record: Record, node: str, inputs: GateInputs) -> str:
    history = inputs.histories.get(node)
    if history and record.received < history.changed:
        return f"{node}: {history.change} since, a run after that wanted"
    if record.run.target != node:
        return ""
    known = next((one.boot_id for one in inputs.nodes if one.name == node), "")
    boot = known or (history.facts.get(BOOT, "") if history else "")
    if boot and record.run.boot_id not in ("", boot):
        return f"{node}: rebooted since, a run after that wanted"
    return ""


def _too_old(record: Record, spec: ProbeSpec, now: float) -> str:
    age = now - record.received
    if age < -CLOCK_SLACK_SECONDS:
        return f"received {seconds_text(-age)} from now, a result of the past wanted: the gate's clock was set back"
    if age > spec.fresh_seconds:
        return f"{seconds_text(age)} old, at most {seconds_text(spec.fresh_seconds)} wanted"
    return ""
