"""The faults, each with where the gate shows it and the one notification that it must cause."""

from collections.abc import Sequence
from dataclasses import dataclass

from deploy.faults.cases import Made
from deploy.faults.sights import AtGate, Words

KINDS = {"critical": "page", "warning": "ticket"}


@dataclass(frozen=True, slots=True)
class Wanted:
    """One notification: what it is about and whose it is. ``node`` is empty where it speaks for a pool or a cluster."""

    alert: str
    owner: str
    severity: str
    node: str = ""

    @property
    def path(self) -> str:
        """The webhook to which the shipped routing sends it."""
        return f"/{self.owner}/{KINDS[self.severity]}"

    def __str__(self) -> str:
        about = f"{self.alert} {self.node}".strip()
        return f"{about} ({self.severity}) at {self.path}"


@dataclass(frozen=True, slots=True)
class Case:
    """One row: faults of the lab (none: the gate itself is stopped), where they show, and who is told in time.

    The gate page must show them within ``sight.limit_seconds``, or within ``shown_within_seconds`` where that is less.
    """

    name: str
    made: tuple[Made, ...]
    wanted: Wanted
    notice_limit_seconds: float
    sight: AtGate | None = None
    shown_within_seconds: float = float("inf")


def _on_b(*fault: str) -> tuple[Made, ...]:
    return (Made("node-b", fault),)


def _failed(check: str, reason: str, limit_seconds: float, node: str = "node-b") -> AtGate:
    return AtGate(check, Words("failed", (reason,)), node, limit_seconds)


CASES: tuple[Case, ...] = (
    Case(
        "link-down",
        _on_b("link-down"),
        Wanted("RDMAGateCheckFailed", "network", "warning", "node-b"),
        notice_limit_seconds=120,
        sight=_failed("access", "port_down", 30),
        shown_within_seconds=1.0,
    ),
    Case(
        "drop-4791",
        _on_b("drop-4791", "both"),
        Wanted("RDMAGateCheckFailed", "network", "warning", "node-b"),
        notice_limit_seconds=360,
        sight=_failed("connectivity", "no_completion", 240),
    ),
    Case(
        "memlock",
        _on_b("memlock", "64"),
        Wanted("RDMAGateCheckFailed", "platform", "warning", "node-b"),
        notice_limit_seconds=180,
        sight=_failed("runtime", "memlock_too_small", 90),
    ),
    Case(
        "netem",
        _on_b("delay", "45"),
        Wanted("RDMAGateTargetMissed", "network", "warning", "node-b"),
        notice_limit_seconds=480,
        sight=_failed("transfers", "missed_target", 360),
    ),
    Case(
        "node-stopped",
        _on_b("silence-node"),
        Wanted("RDMAGateNodeSilent", "platform", "warning", "node-b"),
        notice_limit_seconds=420,
        sight=AtGate("access", Words("missing", ("silent",)), limit_seconds=40),
    ),
    Case(
        "links-down",
        (Made("node-a", ("link-down",)), Made("node-b", ("link-down",))),
        Wanted("RDMAGateCommonCause", "network", "critical"),
        notice_limit_seconds=45,
        sight=_failed("access", "port_down", 30),
    ),
    # Last, since it takes the longest.
    Case("gate-stopped", (), Wanted("RDMAGateDown", "platform", "critical"), notice_limit_seconds=1020),
)


def chosen(names: Sequence[str]) -> tuple[Case, ...]:
    """Return the rows of these names, all where none is given. ValueError for a name that is none."""
    known = [case.name for case in CASES]
    if unknown := [name for name in names if name not in known]:
        raise ValueError(f"--only: {', '.join(unknown)} found, some of {', '.join(known)} wanted")
    return tuple(case for case in CASES if not names or case.name in names)
