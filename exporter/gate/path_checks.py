"""What path tests say about a node, relative to the peers that can be tested at all.

Paths to nodes that cannot take part leave the node's denominator and are listed, so that one bad node does not close
the others. A failure with open blame closes both ends, one with a blamed end only that one; other paths may tell which
end that is. Each planned HCA needs at least one path that counts: what was not tested did not pass.
"""

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace

from exporter.assignment import ProbeSpec
from exporter.gate.blame import PathState, lone_end
from exporter.gate.case import Case, decided, opened
from exporter.gate.inputs import GatePath
from exporter.gate.path_results import PathResult, path_result
from exporter.gate.verdict import OPEN, CheckStatus, Item
from exporter.plan.hcas import planned_hcas


@dataclass
class Tally:
    """What one test says about one node: items that count, paths left out with why, and which targets are open.

    ``waived`` are left out by a decision on the peer, and so hold nothing up.
    """

    items: list[Item] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)
    open_targets: set[str] = field(default_factory=set)
    targets: set[str] = field(default_factory=set)
    waived: set[str] = field(default_factory=set)
    devices: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Earlier:
    """What an earlier check left of a node's paths: left out with why, and open ones (None: nothing to wait for)."""

    check: str = ""
    left_out: Mapping[str, str] = field(default_factory=dict)
    open_targets: Set[str] | None = None

    def wait(self, target: str) -> str:
        """Say what a test of this path waits for, empty when it need not."""
        return "" if self.open_targets is None or target in self.open_targets else f"{self.check} on this path"


NOTHING_EARLIER = Earlier()


@dataclass(frozen=True)
class PathCase:
    """The path tests of one pool. ``unready`` says why a node cannot take part, as in ``node-b access failed``.

    ``told`` collects which faults other paths lay at one end, see exporter.gate.blame.
    """

    case: Case
    paths_of: Mapping[str, Sequence[GatePath]]
    unready: Mapping[str, str]
    judged: dict[tuple[str, str], PathResult] = field(default_factory=dict)
    alone: dict[tuple[str, str], PathResult] = field(default_factory=dict)
    states: dict[tuple[str, str, str], tuple[PathState, ...]] = field(default_factory=dict)
    told: dict[tuple[str, str, float], str] = field(default_factory=dict)

    def tally(self, spec: ProbeSpec, node: str, earlier: Earlier = NOTHING_EARLIER) -> Tally:
        """Judge one test on one node, on the paths that the earlier check has left open."""
        tally = Tally()
        if decision := self.case.not_applicable(spec.probe, node):
            tally.items.append(decided(spec.probe, spec.id, node, decision))
            return tally
        if why := self.unready.get(node):
            tally.items.append(self.case.absent(spec, node, CheckStatus.BLOCKED, "blocked", f"{spec.id}: waits, {why}"))
        else:
            for path in paths_for(spec, self.paths_of.get(node, ())):
                self._count(tally, spec, path, node, earlier)
            tally.items += self._untested(tally, spec, node)
        if whole := self.case.decision(spec.probe, node):
            tally.items = [opened(item, whole) for item in tally.items]
            tally.open_targets = tally.targets
        return tally

    def result(self, spec: ProbeSpec, path: GatePath) -> PathResult:
        """Judge one test on one path, once for both ends, with what other paths tell about them."""
        key = spec.id, path.target
        if key not in self.judged:
            self.judged[key] = self._blamed(spec, path, self._alone(spec, path))
        return self.judged[key]

    def _alone(self, spec: ProbeSpec, path: GatePath) -> PathResult:
        key = spec.id, path.target
        if key not in self.alone:
            self.alone[key] = path_result(self.case, spec, path)
        return self.alone[key]

    def _blamed(self, spec: ProbeSpec, path: GatePath, result: PathResult) -> PathResult:
        if not result.is_open_fault:
            return result
        inputs = self.case.inputs
        key = spec.id, path.target, inputs.records[spec.probe, spec.id, path.target].received
        end = inputs.told.get(key) or lone_end(
            {node: self._states(spec, node, path.device_of(node)) for node in (path.client, path.server)}
        )
        if not end:
            return result
        self.told[key] = end
        return replace(result, blamed=frozenset({end}))

    def _states(self, spec: ProbeSpec, node: str, device: str) -> tuple[PathState, ...]:
        key = spec.id, node, device
        if key not in self.states:
            self.states[key] = tuple(self._states_now(spec, node, device))
        return self.states[key]

    def _states_now(self, spec: ProbeSpec, node: str, device: str) -> Iterator[PathState]:
        """The paths of this HCA, with peers that can be tested at all."""
        for path in paths_for(spec, self.paths_of.get(node, ())):
            if path.device_of(node) == device and path.peer_of(node) not in self.unready:
                result = self._alone(spec, path)
                yield PathState(path.peer_of(node), result.passes, result.is_open_fault, result.is_certain_fault)

    def _count(self, tally: Tally, spec: ProbeSpec, path: GatePath, node: str, earlier: Earlier) -> None:
        target = path.target
        if why := self._left_out(tally, spec, path, node, earlier):
            tally.left_out[target] = why
            return
        if wait := earlier.wait(target):
            sentence = f"{spec.id}: {target} waits for {wait}"
            items: Sequence[Item] = [self.case.absent(spec, target, CheckStatus.BLOCKED, "blocked", sentence)]
        else:
            result = self.result(spec, path)
            items = [self._seen_from(node, path, item) for item in result.of(node)] if result.blamed else result.items
        tally.items += items
        tally.targets.add(target)
        tally.devices.add(path.device_of(node))
        if all(item.status in OPEN for item in items):
            tally.open_targets.add(target)

    def _left_out(self, tally: Tally, spec: ProbeSpec, path: GatePath, node: str, earlier: Earlier) -> str:
        """Say why this path does not count for this end, empty when it does."""
        target, peer = path.target, path.peer_of(node)
        if why := self.unready.get(peer) or earlier.left_out.get(target):
            return why
        if decision := self.case.not_applicable(spec.probe, peer):
            tally.waived.add(target)
            return f"{spec.probe} not applicable on {peer} by decision {decision.id}"
        blamed = frozenset() if earlier.wait(target) else self.result(spec, path).blamed
        return f"{target} is blamed on {', '.join(sorted(blamed))}" if blamed and node not in blamed else ""

    def _seen_from(self, node: str, path: GatePath, item: Item) -> Item:
        """A decision on either end speaks of the path between them."""
        if item.status in OPEN:
            return item
        decisions = (self.case.decision(item.probe, end, device) for end, device in _ends(node, path, item))
        return opened(item, next((decision for decision in decisions if decision), None))

    def _untested(self, tally: Tally, spec: ProbeSpec, node: str) -> Iterator[Item]:
        hca_class = self.case.pool.hcas.get(spec.settings.get("hcas", {}).get("name", ""))
        wanted = max(1, planned_hcas(hca_class) if hca_class else 1)
        if len(tally.devices) >= wanted:
            return
        left_out = "; ".join(sorted(set(tally.left_out.values()))[:3])
        reason, found = ("no_peers", f" ({left_out})") if tally.left_out else ("no_paths", "")
        sentence = f"{spec.id}: paths of {len(tally.devices)} HCAs count{found}, {wanted} HCAs wanted"
        yield self.case.absent(spec, node, CheckStatus.UNKNOWN, reason, sentence)


def _ends(node: str, path: GatePath, item: Item) -> Iterator[tuple[str, str]]:
    """Each end with each name of its HCA: the plan may call it by its PCI address, the finding by its device."""
    peer = path.peer_of(node)
    yield from ((node, path.device_of(node)), (peer, path.device_of(peer)))
    if item.finding:
        subject = item.finding.subject
        yield from ((subject.node, subject.device), (subject.peer, subject.peer_device))


def paths_for(spec: ProbeSpec, paths: Sequence[GatePath]) -> Iterator[GatePath]:
    """The paths between HCAs of the class that this test is planned for."""
    wanted = ("", spec.settings.get("hcas", {}).get("name", ""))
    return (path for path in paths if path.hcas in wanted)
