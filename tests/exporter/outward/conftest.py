"""A cluster of nodes before the gate, an API that keeps what it was sent, and a clock that only a test moves."""

import asyncio
import json
from dataclasses import dataclass, field, replace

import pytest

from exporter.cluster.errors import ApiRefusal
from exporter.gate.verdict import CheckStatus, CheckVerdict, Item, NodeVerdict, PoolVerdict, Verdict
from exporter.outward.due import TYPE
from exporter.outward.node_conditions import NodeConditions
from probes import Owner
from probes._cluster import KubeNode
from probes._workloads import Condition

CHECKS = ("visibility", "access", "resources", "placement", "runtime", "connectivity", "transfers")
NOW = 1_796_047_512.0  # 2026-11-30 14:05:12 UTC


@dataclass
class StillClock:
    """Time that passes only by ``wait``."""

    seconds: float = 1000.0

    def now(self) -> float:
        return NOW + self.seconds - 1000.0

    def monotonic(self) -> float:
        return self.seconds

    async def wait(self, event: asyncio.Event, limit_seconds: float) -> None:
        self.seconds += limit_seconds


@dataclass
class Api:
    """What was sent, in order; patched conditions come back in ``nodes`` when ``echoes``."""

    nodes: dict[str, KubeNode] = field(default_factory=dict)
    sent: list[tuple[str, str, dict]] = field(default_factory=list)
    refuse: list[ApiRefusal] = field(default_factory=list)
    echoes: bool = True

    async def send(self, method, path, body=None, *, query=None, limit=0.0):
        await asyncio.sleep(0)
        if self.refuse:
            raise self.refuse.pop(0)
        self.sent.append((method, path, json.loads(json.dumps(body))))
        if self.echoes and path.endswith("/status"):
            self._keep(path.split("/")[4], body["status"]["conditions"][0])
        return b"{}"

    def _keep(self, name, said):
        condition = Condition(said["status"], said["reason"], said["message"], 0.0)
        node = self.nodes[name]
        self.nodes[name] = replace(node, conditions={**node.conditions, TYPE: condition})

    def patched(self):
        """Take what was sent: name, status and reason of each condition."""
        found = [(path.split("/")[4], body["status"]["conditions"][0]) for _, path, body in self.sent]
        self.sent.clear()
        return [(name, one["status"], one["reason"]) for name, one in found]


def node_verdict(name, status="pass", reason="", check="access", pool="h100"):
    checks = []
    for word in CHECKS:
        one = CheckStatus(status) if word == check else CheckStatus.PASS
        items = (Item(word, word, name, one, reason, f"{name}: {reason} found", Owner.NETWORK),) if reason else ()
        checks.append(CheckVerdict(word, one, f"{name}: {reason} found, none wanted" if reason else "", items))
    return NodeVerdict(name, pool, status == "pass", "reachable", NOW, tuple(checks))


def verdict(*nodes, wanted=1, blockers=()):
    pool = PoolVerdict("h100", sum(one.is_open for one in nodes) >= wanted, wanted, nodes)
    return Verdict("lab", pool.is_open, "", NOW, "digest", (pool,), blockers=blockers)


def kube_nodes(*names):
    return {name: KubeNode(name, f"uid-{name}") for name in names}


@pytest.fixture
def clock():
    return StillClock()


@pytest.fixture
def api():
    return Api(kube_nodes("a", "b"))


@pytest.fixture
def conditions(api, clock):
    return NodeConditions(api, clock, lambda: api.nodes, lambda: True)
