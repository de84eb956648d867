"""The gate's own files: settings, plan and decisions, which are read again as told, and the pause file."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from exporter.gate.decisions import Decisions, load_decisions
from exporter.plan import Plan, PlanError
from exporter.program.reread import Reread
from exporter.program.situation import probe_names
from exporter.settings import KnownMember, Settings

_log = logging.getLogger(__name__)


@dataclass
class GateFiles:
    """What was last of use of each file. ``reread`` is None where no file holds the settings."""

    settings: Settings
    reread: Reread | None = None
    plan: Plan | None = None
    plan_problem: str = ""
    decisions: Decisions = field(default_factory=Decisions)

    def read_members(self) -> None:
        """Read the settings' file again, of which the members count at once."""
        if self.reread is not None:
            self.settings = self.reread.with_members(self.settings)

    def read_plan(self, members: tuple[KnownMember, ...]) -> bool:
        """Return whether a plan was read. One that cannot be used leaves the last in force; all mistakes are logged."""
        if self.settings.plan is None:
            return False
        # Reading a plan takes pydantic, which is a third of the time that a start takes.
        from exporter.plan.affordable import load_affordable_plan

        try:
            self.plan, self.plan_problem = load_affordable_plan(self.settings.plan, members), ""
        except PlanError as error:
            _log.error("plan: %s", "; ".join(error.lines))
            self.plan_problem = error.lines[0]
        return not self.plan_problem

    def read_decisions(self, now: float) -> None:
        """Read the decisions that count at ``now``; the others go to the log."""
        if self.settings.decisions is None:
            return
        self.decisions = load_decisions(self.settings.decisions, probe_names(), now)
        for sentence in self.decisions.refused:
            _log.warning("decisions: %s", sentence)

    @property
    def usable(self) -> Mapping[str, bool]:
        """For each file that there is, whether all of the last reading was of use."""
        there = {
            "plan": (self.settings.plan, not self.plan_problem),
            "decisions": (self.settings.decisions, not self.decisions.refused),
            "settings": (self.reread, not self._settings_problem),
        }
        return {name: is_usable for name, (file, is_usable) in there.items() if file is not None}

    @property
    def notes(self) -> tuple[str, ...]:
        """Say which files could not be used when they were last read, while what was read before goes on counting."""
        plan_problem = self.plan_problem if self.plan else ""
        kept = {"plan": (plan_problem, "the plan"), "settings": (self._settings_problem, "the list of members")}
        return tuple(
            f"{file}: the file could not be used ({problem}), {what} read before is still in force"
            for file, (problem, what) in kept.items()
            if problem
        )

    @property
    def _settings_problem(self) -> str:
        return self.reread.problem if self.reread else ""


def paused_by(file: Path | None) -> str:
    """Return what a pause file says by being there, as a phrase; empty without one."""
    return f"pause file {file}" if file is not None and file.exists() else ""


def set_pause(file: Path | None, paused: bool, who: str) -> None:
    """Make the pause file in the name of ``who``, or take it away."""
    if file is not None and paused:
        file.write_text(f"{who}\n")
    elif file is not None:
        file.unlink(missing_ok=True)
