"""What the gate says: each check of each node, each path, each pool, and whether all of it is open."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from exporter.gate.blame import Told
from exporter.gate.decisions import Decision
from probes import Finding, Owner


class CheckStatus(StrEnum):
    """How one check stands on one node. Only the first three are open."""

    PASS = "pass"
    NOT_APPLICABLE = "not_applicable"
    ACCEPTED = "accepted"
    FAILED = "failed"
    UNKNOWN = "unknown"
    MISSING = "missing"
    STALE = "stale"
    BLOCKED = "blocked"
    MAINTENANCE = "maintenance"


Blockers = tuple[tuple[str, str], ...]

OPEN = frozenset({CheckStatus.PASS, CheckStatus.NOT_APPLICABLE, CheckStatus.ACCEPTED})
GRAVEST_FIRST = (
    CheckStatus.FAILED,
    CheckStatus.MISSING,
    CheckStatus.UNKNOWN,
    CheckStatus.STALE,
    CheckStatus.BLOCKED,
    CheckStatus.MAINTENANCE,
    CheckStatus.ACCEPTED,
    CheckStatus.PASS,
    CheckStatus.NOT_APPLICABLE,
)


def gravest(statuses: Iterable[CheckStatus]) -> CheckStatus:
    """Return the one that decides; MISSING for none at all, since nothing was shown then."""
    return min(statuses, key=GRAVEST_FIRST.index, default=CheckStatus.MISSING)


@dataclass(frozen=True, slots=True)
class Item:
    """One thing that counts for a check: a finding, or its absence (``finding`` None) with the reason.

    ``target`` is the node, or the path as ``a:mlx5_0>b:mlx5_0``. ``decision`` is the id of the one that opened it.
    """

    probe: str
    id: str
    target: str
    status: CheckStatus
    reason: str
    summary: str
    owner: Owner
    received: float = 0.0
    finding: Finding | None = None
    decision: str = ""


@dataclass(frozen=True, slots=True)
class CheckVerdict:
    """One check on one node. ``oldest`` is the receipt time of its oldest result, 0 where there is none.

    ``left_out`` says which of the node's paths do not count here, and why; ``paths`` is how many do.
    """

    check: str
    status: CheckStatus
    why: str
    items: tuple[Item, ...]
    oldest: float = 0.0
    left_out: tuple[str, ...] = ()
    paths: int = 0

    @property
    def is_open(self) -> bool:
        """Whether this check lets the node through."""
        return self.status in OPEN

    @property
    def reasons(self) -> tuple[Item, ...]:
        """What keeps it closed."""
        return tuple(item for item in self.items if item.status not in OPEN)


@dataclass(frozen=True, slots=True)
class NodeVerdict:
    """One node. ``state`` is how the gate reaches it, ``heard`` when it last did (0: never)."""

    node: str
    pool: str
    is_open: bool
    state: str
    heard: float
    checks: tuple[CheckVerdict, ...]

    def check(self, word: str) -> CheckVerdict:
        """Return the check of that word. KeyError for another word."""
        for one in self.checks:
            if one.check == word:
                return one
        raise KeyError(word)


@dataclass(frozen=True, slots=True)
class PoolVerdict:
    """One pool: open when at least ``wanted`` of its nodes are."""

    name: str
    is_open: bool
    wanted: int
    nodes: tuple[NodeVerdict, ...]

    @property
    def open_nodes(self) -> int:
        """How many nodes are open."""
        return sum(node.is_open for node in self.nodes)


@dataclass(frozen=True, slots=True)
class PathVerdict:
    """One expected path over all of its tests. ``state`` is a CheckStatus, or ``left_out``."""

    target: str
    client: str
    server: str
    pool: str
    path_class: str
    rail: str
    state: str
    summary: str
    oldest: float


@dataclass(frozen=True, slots=True)
class Verdict:
    """The whole answer at ``decided`` (Unix seconds). ``problems`` are the reasons of a closed gate, grouped.

    ``blockers`` close everything whatever the nodes show (no_plan, plan_unreviewed ...), each a code and a sentence.
    ``told`` is what the next verdict must know of this one: the faults that other paths laid at one end.
    """

    cluster: str
    is_open: bool
    banner: str
    decided: float
    plan_digest: str
    pools: tuple[PoolVerdict, ...] = ()
    paths: tuple[PathVerdict, ...] = ()
    problems: tuple[str, ...] = ()
    blockers: tuple[tuple[str, str], ...] = ()
    decisions: tuple[Decision, ...] = ()
    unused: tuple[Decision, ...] = ()
    refused: tuple[str, ...] = ()
    paused: str = ""
    told: Told = field(default_factory=dict)

    def node(self, name: str) -> NodeVerdict | None:
        """Return the node of that name."""
        return next((node for pool in self.pools for node in pool.nodes if node.node == name), None)
