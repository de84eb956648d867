"""What all judging of one pool shares: the inputs by name, the decisions that still count, and ways to say an item."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from exporter.assignment import ProbeSpec
from exporter.gate.decisions import Decision, DecisionKind
from exporter.gate.inputs import GateInputs, GateNode
from exporter.gate.uk_time import uk_time
from exporter.gate.verdict import OPEN, CheckStatus, Item
from exporter.plan import Pool
from probes import Finding, Owner, Status

STATUS = {Status.PASS: CheckStatus.PASS, Status.FAIL: CheckStatus.FAILED, Status.UNKNOWN: CheckStatus.UNKNOWN}
OPENED = {
    DecisionKind.NOT_APPLICABLE: CheckStatus.NOT_APPLICABLE,
    DecisionKind.ACCEPTED_EXCEPTION: CheckStatus.ACCEPTED,
}


@dataclass(frozen=True, slots=True)
class Case:
    """One pool before the gate. ``decisions`` are those that have not expired, not-applicable ones first.

    ``pod_digest`` is as what its test pods are planned, ``test_digests`` its tests, by their ids.
    """

    inputs: GateInputs
    pool: Pool
    nodes: Mapping[str, GateNode]
    decisions: tuple[Decision, ...]
    pod_digest: str = ""
    test_digests: Mapping[str, str] = field(default_factory=dict)

    def planned_as(self, test: ProbeSpec) -> str:
        """Return as what one of the pool's tests is planned, empty where that is not known."""
        return self.test_digests.get(test.id, "")

    def decision(self, probe: str, node: str, device: str = "") -> Decision | None:
        """Return the decision that speaks of this probe on this node, or of a finding on this device of it."""
        for one in self.decisions:
            if one.covers(probe, node, self.pool.name, device):
                return one
        return None

    def not_applicable(self, probe: str, node: str) -> Decision | None:
        """Return the decision by which this whole probe does not apply on this node."""
        decision = self.decision(probe, node)
        return decision if decision and decision.kind is DecisionKind.NOT_APPLICABLE else None

    def owner(self, probe: str, reason: str) -> Owner:
        """Who mends it; what passed has no reason, and nobody has to."""
        if not reason:
            return Owner.PLATFORM
        return self.inputs.reason_of(probe, reason).owner

    def absent(self, spec: ProbeSpec, target: str, status: CheckStatus, reason: str, sentence: str) -> Item:
        """An item for what is not there."""
        return Item(spec.probe, spec.id, target, status, reason, sentence, self.owner(spec.probe, reason))

    def found(self, spec: ProbeSpec, target: str, finding: Finding, received: float) -> Item:
        """An item for a finding."""
        status, reason = STATUS[finding.status], finding.reason
        owner = self.owner(spec.probe, reason)
        return Item(spec.probe, spec.id, target, status, reason, finding.summary, owner, received, finding)


def opened(item: Item, decision: Decision | None) -> Item:
    """Return the item as the decision leaves it; what is open anyway needs none."""
    if decision is None or item.status in OPEN:
        return item
    return replace(item, status=OPENED[decision.kind], decision=decision.id)


def decided(probe: str, run_id: str, node: str, decision: Decision) -> Item:
    """An item for a probe that a decision stands in for."""
    kind = decision.kind.replace("_", " ")
    summary = f"{probe}: {kind} by decision {decision.id} until {uk_time(decision.expires)}"
    return Item(probe, run_id, node, OPENED[decision.kind], "", summary, Owner.PLATFORM, decision=decision.id)
