"""Where a fault must show, and with which words: at the gate, in one path test run on demand, or in both."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Words:
    """The stated result: a status and the reasons of which one must be given (empty: that of a pass)."""

    status: str
    reasons: tuple[str, ...] = ("",)

    def __str__(self) -> str:
        return f"{self.status} {' or '.join(self.reasons)}".strip()


@dataclass(frozen=True, slots=True)
class AtGate:
    """A cell of the gate page: ``node``'s ``check`` shows a finding with the wanted words."""

    check: str
    wanted: Words
    node: str = "node-b"
    limit_seconds: float = 30.0

    @property
    def place(self) -> str:
        """Where it shows, in one phrase."""
        return f"gate: {self.node} {self.check}"


@dataclass(frozen=True, slots=True)
class InTest:
    """One run of the planned test ``test`` from node-a to node-b, with ``settings`` (base units) in place of its own.

    ``again`` is a fault that is made anew each second for as long as the test runs.
    """

    test: str
    wanted: Words
    settings: Mapping[str, Any] = field(default_factory=dict)
    again: tuple[str, ...] = ()
    limit_seconds: float = 60.0

    @property
    def place(self) -> str:
        """Where it shows, in one phrase."""
        return f"test: {self.test}"


@dataclass(frozen=True, slots=True)
class WhilePaused:
    """A running test ends when both nodes are paused, and one asked for afterwards is put off."""

    test: str
    wanted: Words
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def place(self) -> str:
        """Where it shows, in one phrase."""
        return f"test: {self.test}"


Sight = AtGate | InTest | WhilePaused


@dataclass(frozen=True, slots=True)
class Seen:
    """What was found in a sight's place. ``seconds`` run from the fault's end, or from a test's start, to its words."""

    as_wanted: bool
    status: str
    reason: str
    summary: str
    seconds: float
