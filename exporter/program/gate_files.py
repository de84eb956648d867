"""The gate's own files: the plan and the decisions it reads, and the pause file it reads and writes."""

import logging
from pathlib import Path

from exporter.gate.decisions import Decisions, load_decisions
from exporter.plan import Plan, PlanError
from exporter.program.situation import probe_names
from exporter.settings import KnownMember

_log = logging.getLogger(__name__)


def read_plan(path: Path, members: tuple[KnownMember, ...]) -> tuple[Plan | None, str]:
    """Return the plan of that file, or None and its first mistake; all of them go to the log."""
    # Reading a plan takes pydantic, which is a third of the time that a start takes.
    from exporter.plan.affordable import load_affordable_plan

    try:
        return load_affordable_plan(path, members), ""
    except PlanError as error:
        _log.error("plan: %s", "; ".join(error.lines))
        return None, error.lines[0]


def read_decisions(path: Path, now: float) -> Decisions:
    """Return the decisions of that file that count at ``now``; the others go to the log."""
    decisions = load_decisions(path, probe_names(), now)
    for sentence in decisions.refused:
        _log.warning("decisions: %s", sentence)
    return decisions


def paused_by(file: Path | None) -> str:
    """Return what a pause file says by being there, as a phrase; empty without one."""
    return f"pause file {file}" if file is not None and file.exists() else ""


def set_pause(file: Path | None, paused: bool, who: str) -> None:
    """Make the pause file in the name of ``who``, or take it away."""
    if file is not None and paused:
        file.write_text(f"{who}\n")
    elif file is not None:
        file.unlink(missing_ok=True)
