"""What one test says about one path, once for both of its ends, with the ends at which each fault is laid."""

from collections.abc import Iterator
from dataclasses import dataclass

from exporter.assignment import ProbeSpec
from exporter.gate.case import Case
from exporter.gate.inputs import GatePath
from exporter.gate.staleness import stale_because
from exporter.gate.verdict import OPEN, CheckStatus, Item
from exporter.ledger import Record


@dataclass(frozen=True, slots=True)
class PathResult:
    """The items of a path. ``blamed`` are the ends that faults close, both where the blame is open; none: no fault."""

    items: tuple[Item, ...]
    blamed: frozenset[str] = frozenset()

    @property
    def passes(self) -> bool:
        """Whether everything that was found is open."""
        return bool(self.items) and not self.blamed

    @property
    def is_open_fault(self) -> bool:
        """Whether a test has found a fault, and none that it lays at one end."""
        faults = [item for item in self.items if item.status not in OPEN]
        return bool(faults) and all(item.finding is not None and not item.finding.about for item in faults)

    @property
    def is_certain_fault(self) -> bool:
        """Whether a test has failed, and not only left open whether it did."""
        return any(item.status is CheckStatus.FAILED for item in self.items)

    def of(self, node: str) -> tuple[Item, ...]:
        """The items that count for this end."""
        if not self.blamed:
            return self.items
        return tuple(item for item in self.items if item.status in OPEN or node in blamed_by(item, self.blamed))


def path_result(case: Case, spec: ProbeSpec, path: GatePath) -> PathResult:
    """Judge the last run of this test on this path."""
    items = tuple(_items(case, spec, path))
    ends = frozenset((path.client, path.server))
    faults = [item for item in items if item.status not in OPEN]
    return PathResult(items, frozenset(end for item in faults for end in blamed_by(item, ends)))


def blamed_by(item: Item, ends: frozenset[str]) -> frozenset[str]:
    """Return the ends that this fault closes. Blame of nobody, or of none of the two, is open and closes both."""
    if item.finding is None:
        return ends
    return frozenset(end.node for end in item.finding.about) & ends or ends


def _items(case: Case, spec: ProbeSpec, path: GatePath) -> Iterator[Item]:
    target = path.target
    record = case.inputs.records.get((spec.probe, spec.id, target))
    if record is None:
        sentence = f"{spec.id}: {target} not tested yet, a result wanted"
        yield case.absent(spec, target, CheckStatus.MISSING, "no_result", sentence)
    elif why := stale_because(record, spec, (path.client, path.server), case.inputs, planned_as=case.planned_as(spec)):
        yield case.absent(spec, target, CheckStatus.STALE, "stale", f"{spec.id}: {target}: {why}")
    else:
        if not record.run.findings or _is_in_doubt(record):
            sentence = f"{spec.id}: {target}: {len(record.run.findings)} findings of a run that ended as "
            sentence += f"{record.run.outcome}, findings of one that is done wanted"
            yield case.absent(spec, target, CheckStatus.UNKNOWN, "no_findings", sentence)
        for finding in record.run.findings:
            yield case.found(spec, target, finding, record.received)


def _is_in_doubt(record: Record) -> bool:
    return record.run.outcome != "done" and all(finding.status == "pass" for finding in record.run.findings)
