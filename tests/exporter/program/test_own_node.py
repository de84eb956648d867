"""A gate and the node in its own process: another gate may have come first, and is then not pushed aside."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from exporter.assignment import Assignment, Claim
from exporter.evidence import EvidenceStore
from exporter.gate.inputs import GateNode, MemberState
from exporter.ledger import Ledger
from exporter.program.node import NodeRole
from exporter.program.own_node import OwnNode
from exporter.settings import Settings

OURS, OTHER = Claim("ours", 1), Claim("other", 1)
WORK = Assignment("lab", "gpu-001", "h100", "digest-1", term=1)


@dataclass
class Clock:
    seconds: float = 1000.0

    def now(self) -> float:
        return self.seconds

    def monotonic(self) -> float:
        return self.seconds

    async def wait(self, event, limit_seconds: float) -> None:
        raise AssertionError("nothing waits here")


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def node(tmp_path: Path, clock: Clock) -> NodeRole:
    settings = Settings("gpu-001", frozenset({"node"}), "127.0.0.1", 0, tmp_path / "state", host_root=tmp_path)
    return NodeRole(settings, Ledger(None, EvidenceStore(None), clock.now), clock, {})


def test_the_node_of_this_process_is_given_its_work_and_is_reachable(node, clock):
    own = OwnNode(node)
    own.hear(OURS, lambda: WORK, has_news=True)
    assert (node.assignment.plan_digest, node.assignment.gate) == ("digest-1", "ours")
    assert own.gate_node("h100", 5.0) == GateNode("gpu-001", "h100", MemberState.REACHABLE, 5.0)


def test_work_is_handed_out_again_only_when_it_changed(node):
    own = OwnNode(node)
    own.hear(OURS, lambda: WORK, has_news=True)

    def no_work() -> Assignment | None:
        raise AssertionError("nothing has changed")

    own.hear(OURS, no_work, has_news=False)


def test_another_gate_that_came_first_keeps_it_until_it_is_silent(node, clock, caplog):
    node.guard.obey(OTHER)
    own = OwnNode(node)
    for _ in range(2):
        own.hear(OURS, lambda: WORK, has_news=True)
    sentence = "node: gates ours and other spoke 0 s ago, both of term 1; one gate wanted"
    assert own.gate_node("h100", 5.0) == GateNode("gpu-001", "h100", MemberState.REFUSED, 5.0, sentence)
    assert ([record.message for record in caplog.records], node.assignment) == ([sentence], None)
    clock.seconds += 10.1
    own.hear(OURS, lambda: WORK, has_news=False)
    assert (own.other_gate, node.assignment.gate) == ("", "ours")
