"""A small cluster before the gate: two nodes that pass every check, to be broken one thing at a time."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import pytest

from exporter import registry
from exporter.assignment import ProbeSpec
from exporter.gate.changes import follow_all
from exporter.gate.decide import decide
from exporter.gate.decisions import Decision, DecisionKind, Decisions, Scope
from exporter.gate.inputs import GateGroup, GateInputs, GateNode, GatePath, MemberState
from exporter.gate.verdict import CheckStatus, CheckVerdict, Verdict
from exporter.ledger import Key, Record
from exporter.plan import GroupTest, Nodes, Plan, PlannedPods, Pool, Review
from probes import End, Finding, HcaClass, Run, Status, Subject

NOW = 1_796_047_512.0  # 30/11/2026 14:05:12 GMT
TEST_CHECKS = ("connectivity", "transfers")
HCAS = HcaClass("compute", pci=("0000:1a:00.0",))


def required(*, tests: bool) -> list[str]:
    return [
        probe for word, check in registry.checks().items() if (word in TEST_CHECKS) is tests for probe in check.required
    ]


def spec(probe: str, **more: object) -> ProbeSpec:
    settings = {"hcas": {"name": "compute"}} if probe.partition(".")[0] in TEST_CHECKS else {}
    return ProbeSpec(probe, probe, **{"settings": settings, "fresh_seconds": 300.0, **more})


def finding(subject: Subject, status: str = "pass", reason: str = "", about: tuple[End, ...] = (), **more) -> Finding:
    sentence = f"{subject}: as planned" if status == "pass" else f"{subject}: {reason} found, none wanted"
    return Finding(subject, Status(status), reason, sentence, about=about, **more)


def decision(
    subject: str, kind: str = "not_applicable", expires: float = NOW + 86400, **scope: tuple[str, ...]
) -> Decision:
    people = ("ana", "platform", "bo", "no such thing here", "none needed")
    return Decision(f"d-{subject}", DecisionKind(kind), subject, Scope(**scope), *people, expires)


@dataclass
class World:
    """What the gate is given; ``verdict()`` decides. Everything passes until it is changed."""

    now: float = NOW
    reviewed: Review | None = field(default_factory=lambda: Review("ana", "2026-11-02", "git:3f2c9e1"))
    hcas: HcaClass = HCAS
    names: tuple[str, ...] = ("a", "b")
    at_least: int = 0
    probes: list[ProbeSpec] = field(default_factory=lambda: [spec(one) for one in required(tests=False)])
    tests: list[ProbeSpec] = field(default_factory=lambda: [spec(one) for one in required(tests=True)])
    records: dict[Key, Record] = field(default_factory=dict)
    states: dict[str, MemberState] = field(default_factory=dict)
    decisions: list[Decision] = field(default_factory=list)
    refused: tuple[str, ...] = ()
    paths: list[GatePath] | None = None
    digest: str = "digest-1"
    test_pods: PlannedPods | None = None
    group_tests: tuple[GroupTest, ...] = ()
    groups: tuple[GateGroup, ...] = ()
    more: dict[str, object] = field(default_factory=dict)

    def plan(self) -> Plan:
        pool = Pool(
            "p", Nodes(self.names, "", self.at_least), {"compute": self.hcas}, tuple(self.probes), tuple(self.tests)
        )
        pool = replace(pool, test_pods=self.test_pods, group_tests=self.group_tests)
        return Plan("lab", (pool,), reviewed=self.reviewed, digest=self.digest)

    def pass_all(self) -> "World":
        for one in self.probes:
            for node in self.names:
                self.host(one.probe, node)
        for one in self.tests:
            for path in self.all_paths():
                self.path(one.probe, path.client, path.server)
        return self

    def all_paths(self) -> list[GatePath]:
        if self.paths is not None:
            return self.paths
        return [path_between(one, other) for one in self.names for other in self.names if one != other]

    def host(self, probe: str, node: str, *findings: Finding, **more: object) -> None:
        found = findings or (finding(Subject(node=node, device="mlx5_0")),)
        self.put(Run(probe, probe, node, "host", found, 0.0, 1.0, self.digest, f"boot-{node}", "0.1.0"), **more)

    def path(self, probe: str, client: str, server: str, *statuses: tuple[str, str, tuple[End, ...]], **more) -> None:
        subject = Subject(client, "mlx5_0", "", server, "mlx5_0")
        found = tuple(finding(subject, *one) for one in statuses) or (finding(subject),)
        target = path_between(client, server).target
        self.put(Run(probe, probe, target, "host", found, 0.0, 1.0, self.digest, "boot-gate", "0.1.0"), **more)

    def put(self, run: Run, *, received: float | None = None, planned_as: str = "", **changes: object) -> None:
        run = replace(run, **changes)
        at = self.now - 10 if received is None else received
        record = Record(len(self.records) + 1, at, run, (), 300.0, "p", planned_as)
        self.records[record.key] = record

    def drop(self, probe: str) -> None:
        self.records = {key: record for key, record in self.records.items() if key[0] != probe}

    def inputs(self) -> GateInputs:
        nodes = tuple(
            GateNode(name, "p", self.states.get(name, MemberState.REACHABLE), self.now - 1) for name in self.names
        )
        given: Mapping[str, object] = {
            "plan": self.plan(),
            "records": self.records,
            "nodes": nodes,
            "now": self.now,
            "program_version": "0.1.3",
            "paths": tuple(self.all_paths()),
            "groups": self.groups,
            "decisions": Decisions(tuple(self.decisions), self.refused),
            "histories": follow_all({}, self.records.values()),
        }
        return GateInputs(**{**given, **self.more})

    def verdict(self) -> Verdict:
        return decide(self.inputs())

    def check(self, node: str, word: str) -> CheckVerdict:
        found = self.verdict().node(node)
        assert found is not None
        return found.check(word)

    def statuses(self, node: str) -> dict[str, str]:
        """The checks of a node that did not simply pass."""
        found = self.verdict().node(node)
        assert found is not None
        return {one.check: one.status.value for one in found.checks if one.status is not CheckStatus.PASS}


def path_between(client: str, server: str, device: str = "mlx5_0") -> GatePath:
    return GatePath(f"{client}:{device}>{server}:{device}", client, device, server, device, "p", "same_rail", "0")


@dataclass(frozen=True)
class Make:
    """What tests of the gate build with."""

    spec = staticmethod(spec)
    finding = staticmethod(finding)
    decision = staticmethod(decision)
    path = staticmethod(path_between)
    now: float = NOW


@pytest.fixture
def make() -> Make:
    return Make()


@pytest.fixture
def world() -> World:
    return World().pass_all()


@pytest.fixture
def three() -> World:
    return World(names=("a", "b", "c")).pass_all()
