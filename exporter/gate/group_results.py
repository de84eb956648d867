"""The last runs of a collective test as a verdict needs them: which nodes took part, how it ended, whom it blames."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from exporter.ledger import Key, Record
from probes import Finding, Status

MARK = "#"
UNCONFIRMED = "unconfirmed"
WORST_FIRST = (Status.FAIL, Status.UNKNOWN, Status.PASS)


@dataclass(frozen=True, slots=True)
class GroupResult:
    """The last run of one test in one group. ``told`` are the nodes that its finding itself blames.

    ``searches``: the group was made only to find out which node of another one is to blame.
    """

    target: str
    name: str
    nodes: tuple[str, ...]
    searches: bool
    received: float
    status: Status
    reason: str
    told: frozenset[str]
    record: Record

    @property
    def passes(self) -> bool:
        """Whether all that was found passed."""
        return self.status is Status.PASS

    @property
    def must_pass_again(self) -> bool:
        """Whether the same group is tested until it passes, also once its turn is over."""
        return self.status is Status.FAIL or self.reason == UNCONFIRMED

    @property
    def is_open_fault(self) -> bool:
        """Whether it has failed and says of no node that it is to blame."""
        return self.status is Status.FAIL and not self.told


GroupResults = Mapping[tuple[str, str], tuple[GroupResult, ...]]


def is_of_group(target: str) -> bool:
    """Whether a run's target is a group of nodes: no node and no HCA has this mark in its name."""
    return MARK in target


def is_of_test(target: str) -> bool:
    """Whether a run's target is a path or a group: the gate's own tests have no others."""
    return ">" in target or is_of_group(target)


def group_results(records: Mapping[Key, Record]) -> GroupResults:
    """Return the results of all collective tests, by probe and id."""
    found: dict[tuple[str, str], list[GroupResult]] = {}
    for key, record in records.items():
        if is_of_group(key[2]):
            found.setdefault(key[:2], []).append(_result(record))
    return {test: tuple(results) for test, results in found.items()}


def newest_of(results: Iterable[GroupResult]) -> GroupResult | None:
    """Return the one that was received last."""
    return max(results, key=lambda one: one.received, default=None)


def facts_of_group(name: str, nodes: Iterable[str], ranks: int, *, searches: bool) -> dict[str, str]:
    """Return what a finding must tell of its group, as facts."""
    purpose = "blame" if searches else "plan"
    return {"group": name, "nodes": ",".join(nodes), "ranks": str(ranks), "purpose": purpose}


def _result(record: Record) -> GroupResult:
    findings = sorted(record.run.findings, key=lambda finding: WORST_FIRST.index(finding.status))
    worst = findings[0] if findings else None
    facts = worst.facts if worst else {}
    nodes = tuple(node for node in facts.get("nodes", "").split(",") if node)
    return GroupResult(
        target=record.run.target,
        name=facts.get("group", "") or record.run.target.partition(MARK)[0],
        nodes=nodes,
        searches=facts.get("purpose") == "blame",
        received=record.received,
        status=worst.status if worst else Status.UNKNOWN,
        reason=worst.reason if worst else "",
        told=_told(worst, nodes),
        record=record,
    )


def _told(worst: Finding | None, nodes: tuple[str, ...]) -> frozenset[str]:
    return frozenset(end.node for end in worst.about) & frozenset(nodes) if worst else frozenset()
