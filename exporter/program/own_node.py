"""The node in a gate's own process is spoken to as any other, and may as any other already have another gate."""

import logging
from collections.abc import Callable

from exporter.assignment import Assignment, Claim
from exporter.gate.inputs import GateNode, MemberState
from exporter.program.node import NodeRole
from probes._endpoint import Refused

_log = logging.getLogger(__name__)


class OwnNode:
    """Speaks to the node role of this process. ``other_gate`` is a sentence while another gate speaks for it."""

    def __init__(self, node: NodeRole) -> None:
        self.node = node
        self.other_gate = ""

    def hear(self, claim: Claim, work: Callable[[], Assignment | None], *, has_news: bool) -> None:
        """Say that the gate lives, and hand out the node's work where that has changed or could not be before."""
        self.node.guard.heard()
        before = self.other_gate
        try:
            self.node.guard.obey(claim)
            self.other_gate = ""
            if has_news or before:
                self.node.follow(work(), claim)
        except Refused as refused:
            self.other_gate = refused.summary
            if not before:
                _log.warning("%s", refused.summary)

    def gate_node(self, pool: str, now: float) -> GateNode:
        """Return what a verdict needs to know of it."""
        state = MemberState.REFUSED if self.other_gate else MemberState.REACHABLE
        return GateNode(self.node.settings.node, pool, state, now, self.other_gate)
