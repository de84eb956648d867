"""What collectives say about a node: the newest group that it was in, and each fault of a group that may be its own.

A group fails as a whole. Where one node is to blame, the others lose that group and need the proof of another one.
Groups are made anew without nodes that cannot take part, and what they proved before counts until it is stale.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from exporter.assignment import ProbeSpec
from exporter.gate.case import Case, decided, opened
from exporter.gate.group_blame import Blame
from exporter.gate.group_results import GroupResult, GroupResults, group_results, newest_of
from exporter.gate.inputs import GateGroup
from exporter.gate.path_checks import Tally
from exporter.gate.staleness import stale_because
from exporter.gate.verdict import OPEN, CheckStatus, Item


@dataclass(frozen=True)
class GroupCase:
    """The collective tests of one pool. What is worked out for all nodes is kept by the test's id."""

    case: Case
    by_node: dict[str, Mapping[str, Sequence[GroupResult]]] = field(default_factory=dict)
    counting: dict[str, tuple[GroupResult, ...]] = field(default_factory=dict)
    blame: dict[str, Blame] = field(default_factory=dict)
    blamed: dict[tuple[str, str], frozenset[str]] = field(default_factory=dict)

    def tally(self, spec: ProbeSpec, node: str, waits: str) -> Tally:
        """Judge one test on one node; ``waits`` says which earlier check of the node holds it up, empty: none."""
        if decision := self.case.not_applicable(spec.probe, node):
            return Tally([decided(spec.probe, spec.id, node, decision)])
        if waits:
            items = [self.case.absent(spec, node, CheckStatus.BLOCKED, "blocked", f"{spec.id}: waits, {waits}")]
            return self._opened(Tally(items), spec, node)
        tally = Tally()
        proofs: list[GroupResult] = []
        for result in self._of_node(spec, node):
            if why := self._left_out(spec, result, node):
                tally.left_out[result.name] = why
            else:
                proofs.append(result)
        newest = newest_of(proofs)
        counted = [one for one in proofs if one is newest or (one.must_pass_again and not self._stale(spec, one))]
        tally.items = [item for one in counted for item in self._items(spec, one, node)]
        if not counted:
            tally.items.append(self._unproven(spec, node, tally))
        return self._opened(tally, spec, node)

    @cached_property
    def _results(self) -> GroupResults:
        return group_results(self.case.inputs.records)

    def _of_pool(self, spec: ProbeSpec) -> Sequence[GroupResult]:
        """Groups whose every member is still in the pool."""
        results = self._results.get((spec.probe, spec.id), ())
        return [one for one in results if one.nodes and all(node in self.case.nodes for node in one.nodes)]

    def _of_node(self, spec: ProbeSpec, node: str) -> Sequence[GroupResult]:
        """The groups that this node was in for its own proof."""
        if spec.id not in self.by_node:
            found: defaultdict[str, list[GroupResult]] = defaultdict(list)
            for result in self._of_pool(spec):
                for member in () if result.searches else result.nodes:
                    found[member].append(result)
            self.by_node[spec.id] = found
        return self.by_node[spec.id].get(node, ())

    def _blamed(self, spec: ProbeSpec, result: GroupResult) -> frozenset[str]:
        key = spec.id, result.target
        if key not in self.blamed:
            if spec.id not in self.blame:
                self.blame[spec.id] = Blame(self._counting(spec))
            self.blamed[key] = self.blame[spec.id].of(result)
        return self.blamed[key]

    def _counting(self, spec: ProbeSpec) -> tuple[GroupResult, ...]:
        if spec.id not in self.counting:
            fresh = (one for one in self._of_pool(spec) if not self._stale(spec, one))
            self.counting[spec.id] = tuple(fresh)
        return self.counting[spec.id]

    def _stale(self, spec: ProbeSpec, result: GroupResult) -> str:
        return stale_because(result.record, spec, result.nodes, self.case.inputs, planned_as=self.case.planned_as(spec))

    def _left_out(self, spec: ProbeSpec, result: GroupResult, node: str) -> str:
        """Say why a fault of this group does not count for this node, empty when it does."""
        if result.passes:
            return ""
        blamed = self._blamed(spec, result)
        if node not in blamed:
            return f"{result.name} is blamed on {', '.join(sorted(blamed))}"
        away = [other for other in result.nodes if other != node and self._away(other)]
        return ", ".join(f"{other} {self._away(other)}" for other in away) if blamed != {node} else ""

    def _away(self, node: str) -> str:
        state = self.case.nodes[node].state
        return "" if state.value == "reachable" else state.value

    def _items(self, spec: ProbeSpec, result: GroupResult, node: str) -> Iterator[Item]:
        target, run = result.target, result.record.run
        if why := self._stale(spec, result):
            yield self.case.absent(spec, target, CheckStatus.STALE, "stale", f"{spec.id}: {result.name}: {why}")
            return
        if run.outcome != "done" and result.passes:
            sentence = f"{spec.id}: {result.name}: a run that ended as {run.outcome}, one that is done wanted"
            yield self.case.absent(spec, target, CheckStatus.UNKNOWN, "not_done", sentence)
        for finding in run.findings:
            item = self.case.found(spec, target, finding, result.received)
            yield opened(item, self.case.decision(spec.probe, node, finding.subject.device))

    def _unproven(self, spec: ProbeSpec, node: str, tally: Tally) -> Item:
        """An item for a node without any result that counts: what it waits for, or why it is in no group."""
        group = next((one for one in self._expected(spec) if node in one.nodes), None)
        if group is not None:
            sentence = f"{spec.id}: {group.name} not tested yet, a result wanted"
            return self.case.absent(spec, group.target, CheckStatus.MISSING, "no_result", sentence)
        left_out = "; ".join(sorted(set(tally.left_out.values()))[:3])
        found = f"no group of {node} found{f' ({left_out})' if left_out else ''}"
        sentence = f"{spec.id}: {found}, one with nodes that can take part wanted"
        return self.case.absent(spec, node, CheckStatus.UNKNOWN, "no_group", sentence)

    def _expected(self, spec: ProbeSpec) -> Iterator[GateGroup]:
        return (one for one in self.case.inputs.groups if (one.pool, one.id) == (self.case.pool.name, spec.id))

    def _opened(self, tally: Tally, spec: ProbeSpec, node: str) -> Tally:
        whole = self.case.decision(spec.probe, node)
        if whole and any(item.status not in OPEN for item in tally.items):
            tally.items = [opened(item, whole) for item in tally.items]
        return tally
