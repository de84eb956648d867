"""What is shown of a verdict: plain values, in the order in which they are read, ready for page, JSON and metrics."""

from collections.abc import Mapping

import msgspec


class EvidenceView(msgspec.Struct, frozen=True):
    """What a finding rests on: an excerpt, and the digest of the whole text."""

    name: str
    excerpt: str
    sha256: str = ""
    size_bytes: int = 0
    command: str = ""
    exit_status: int | None = None


class FindingView(msgspec.Struct, frozen=True):
    """One finding as a sentence, with who mends it. ``received`` is Unix seconds."""

    probe: str
    status: str
    reason: str
    meaning: str
    summary: str
    owner: str
    received: float
    evidence: tuple[EvidenceView, ...] = ()


class CellView(msgspec.Struct, frozen=True):
    """One check on one node. ``oldest`` is the receipt time of its oldest result, 0 where there is none.

    ``reason`` and ``owner`` are those of ``why``, empty for an open check. ``lapses`` (Unix seconds) is when the result
    that keeps it open and is nearest to its end stops counting, ``valid_seconds`` how long that one counts; 0: none.
    """

    check: str
    status: str
    why: str = ""
    oldest: float = 0.0
    findings: tuple[FindingView, ...] = ()
    reason: str = ""
    owner: str = ""
    lapses: float = 0.0
    valid_seconds: float = 0.0


class NodeView(msgspec.Struct, frozen=True):
    """One node with its seven checks. ``last_report`` is Unix seconds, 0 where there was none.

    ``state`` is one word (reachable, silent, refused, unknown, maintenance), ``note`` a phrase that says more.
    """

    name: str
    is_open: bool
    state: str
    last_report: float
    cells: tuple[CellView, ...]
    note: str = ""


class PoolView(msgspec.Struct, frozen=True):
    """One pool: open when at least ``wanted`` of its nodes are."""

    name: str
    is_open: bool
    wanted: int
    nodes: tuple[NodeView, ...]


class CheckView(msgspec.Struct, frozen=True):
    """The head of one column."""

    word: str
    number: int
    title: str


class DecisionView(msgspec.Struct, frozen=True):
    """A person's decision that counts now. ``expires`` is Unix seconds; ``check`` and ``pool`` are empty for all."""

    id: str
    kind: str
    scope: str
    justification: str
    requester: str
    approver: str
    expires: float
    control: str = ""
    check: str = ""
    pool: str = ""


class PathView(msgspec.Struct, frozen=True):
    """One expected path from a client's HCA to a server's: the state of its last result (received: Unix seconds or 0).

    ``state`` is a check's status, ``path_class`` and ``rail`` are the plan's words.
    """

    client: str
    server: str
    state: str
    summary: str = ""
    received: float = 0.0
    pool: str = ""
    path_class: str = ""
    rail: str = ""


class GateView(msgspec.Struct, frozen=True):
    """The whole gate page. Times are Unix seconds; ``problems`` are the reasons of a closed gate, grouped.

    ``paused`` says who paused all tests; ``files`` tells by name (plan, decisions) whether it was read without fault.
    A gate that is not the leader shows what it would decide, and exposes nothing. ``last_snapshot`` is 0 without one.
    """

    cluster: str
    is_open: bool
    banner: str
    decided: float
    plan: str
    checks: tuple[CheckView, ...]
    pools: tuple[PoolView, ...]
    problems: tuple[str, ...] = ()
    decisions: tuple[DecisionView, ...] = ()
    refused: tuple[str, ...] = ()
    paths: tuple[PathView, ...] = ()
    paused: str = ""
    version: str = ""
    is_leader: bool = True
    files: Mapping[str, bool] = {}
    last_snapshot: float = 0.0
