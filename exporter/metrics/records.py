"""The store follows the ledger: what this process produced is shown once, what it pulled from others is not."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from itertools import chain

from exporter.assignment import is_pod_id
from exporter.ledger import Key, Ledger, Record
from exporter.metrics import families
from exporter.metrics.blocks import BlockStore
from exporter.metrics.family import Family, Point
from exporter.metrics.runs import (
    failure_points,
    passes,
    run_labels,
    run_points,
    sample_points,
    target_points,
)
from exporter.registry import ProbeModule

FAILURES_PER_PROBE = 64
FAILURES_IN_ALL = 5000
OUTCOMES = ("done", "timeout", "error", "deferred")

Group = tuple[str, str, str]


class RecordMetrics:
    """Renders each accepted record into ``store``; ``node`` is this process's own node."""

    def __init__(self, store: BlockStore, ledger: Ledger, node: str, modules: Mapping[str, ProbeModule]) -> None:
        self.failures_dropped = 0
        self._store = store
        self._ledger = ledger
        self._node = node
        self._modules = modules
        self._members: dict[Group, dict[Key, Record]] = defaultdict(dict)
        self._group_of: dict[Key, Group] = {}
        self._last_pass: dict[Group, float] = {}
        self._failures: Counter[Group] = Counter()
        self._runs: dict[str, Counter[str]] = defaultdict(Counter)
        for record in ledger.latest().values():
            self._show(record)
        ledger.listen(self._count_and_show)

    def forget_dropped(self) -> None:
        """Stop showing the runs that the ledger has dropped since."""
        for key in self._group_of.keys() - self._ledger.latest().keys():
            group = self._group_of.pop(key)
            del self._members[group][key]
            self._render(group)

    def _count_and_show(self, record: Record) -> None:
        if self._is_own(record):
            self._runs[record.run.probe][record.run.outcome] += 1
            self._store.put(("runs", record.run.probe), {families.RUNS: self._run_points(record.run.probe)})
            self._show(record)

    def _show(self, record: Record) -> None:
        if not self._is_own(record):
            return
        group = (record.run.probe, record.run.id, run_labels(record)["node"])
        self._group_of[record.key] = group
        self._members[group][record.key] = record
        if passes(record):
            self._last_pass[group] = record.received
        self._render(group)

    def _is_own(self, record: Record) -> bool:
        module = self._modules.get(record.run.probe)
        # Nobody scrapes a test pod, which is gone before its results are.
        of_others = (module is not None and module.kind != "host") or is_pod_id(record.run.id)
        return record.run.target == self._node or of_others

    def _render(self, group: Group) -> None:
        records = list(self._members[group].values())
        if not records:
            del self._members[group]
            self._last_pass.pop(group, None)
            self._failures.pop(group, None)
            self._store.drop(group)
            return
        module = self._modules.get(group[0])
        tables = [run_points(records, self._last_pass.get(group)), target_points(records)]
        # The node's agent shows the same series, and a pod's would stand beside them for as long as its result counts.
        tables += [sample_points(records, module)] if module and not is_pod_id(group[1]) else []
        tables.append({families.FAILURE: self._capped(group, failure_points(records))})
        self._store.put(group, dict[Family, list[Point]](chain.from_iterable(table.items() for table in tables)))

    def _capped(self, group: Group, points: list[Point]) -> list[Point]:
        self._failures[group] = 0
        room = min(FAILURES_PER_PROBE, max(0, FAILURES_IN_ALL - self._failures.total()))
        self.failures_dropped += max(0, len(points) - room)
        self._failures[group] = min(len(points), room)
        return points[:room]

    def _run_points(self, probe: str) -> list[Point]:
        counts = self._runs[probe]
        return [Point({"probe": probe, "outcome": outcome}, counts[outcome]) for outcome in OUTCOMES]
