"""Probes of the cluster leave one run for each node, on time and after changes, whatever happens inside them."""

import threading
from dataclasses import dataclass

import pytest

from exporter.assignment import ProbeSpec
from exporter.cluster.facts import ClusterFacts
from exporter.cluster.probe_loop import ClusterProbes, PlannedProbe
from exporter.evidence import EvidenceStore
from exporter.ledger import Ledger
from exporter.observe import RunContext
from exporter.registry import ProbeModule
from probes import Finding, ProbeError, Run, Status, Subject
from probes._cluster import Cluster
from probes._node_reading import NodeReading, SeenHca
from tests.exporter.cluster.conftest import running, settings_for, until

NODES = "/api/v1/nodes"
CONTEXT = RunContext("gate", "host", "", "gate-boot", "0.1.0")


@dataclass(frozen=True)
class Zones:
    """Passes a node that has the label; says nothing about a node named silent; fails as a whole when told to."""

    label: str
    broken: str = ""

    async def run(self, cluster: Cluster) -> list[Finding]:
        if self.broken == "bug":
            raise KeyError("zone")
        if self.broken == "denied":
            raise ProbeError("rbac_denied", "list nodes: forbidden found, an answer wanted")
        return [self._judge(cluster, name) for name in cluster.judged if name != "silent"]

    def _judge(self, cluster: Cluster, name: str) -> Finding:
        node = cluster.nodes.get(name)
        status = Status.PASS if node and self.label in node.labels else Status.FAIL
        return Finding(Subject(node=name), status, "", f"{name}: {status}")


def module(probe=Zones):
    return ProbeModule("visibility.zones", "visibility", 1, "cluster", probe, {}, {}, frozenset(), "")


def planned(*nodes, every=3600.0, limit=60.0, digest="d1", **settings):
    spec = ProbeSpec("visibility.zones", "zones", {"label": "zone", **settings}, every, 7200.0, limit)
    return PlannedProbe("h100", spec, nodes, digest)


@pytest.fixture
def facts(connection, clock, tmp_path):
    return ClusterFacts(connection, settings_for(tmp_path), clock, is_plugin=lambda one: False)


@pytest.fixture
def ledger(tmp_path, clock):
    return Ledger(None, EvidenceStore(tmp_path / "evidence"), clock.now)


@pytest.fixture
def loop(facts, ledger, clock):
    def make(plan, probe=Zones):
        return ClusterProbes(facts, ledger, CONTEXT, {"visibility.zones": module(probe)}, lambda: plan, clock)

    return make


def runs(ledger):
    return {
        key[2]: [(one.status, one.reason) for one in record.run.findings] for key, record in ledger.latest().items()
    }


async def test_each_judged_node_gets_a_run_of_its_own(api, facts, ledger, loop):
    api.put(NODES, {"metadata": {"name": "a", "labels": {"zone": "1"}}, "status": {"nodeInfo": {"bootID": "boot-a"}}})
    wanted = {"a": [("pass", "")], "gone": [("fail", "")], "silent": [("unknown", "probe_error")]}
    async with running(facts.run(), loop([planned("a", "gone", "silent")]).run()):
        await until(lambda: runs(ledger) == wanted)
    record = ledger.get(("visibility.zones", "zones", "a"))
    assert (record.pool, record.fresh_seconds) == ("h100", 7200.0)
    assert (record.run.boot_id, record.run.plan_digest, record.run.vantage) == ("", "d1", "api")


@pytest.mark.parametrize(("broken", "reason"), [("bug", "probe_error"), ("denied", "rbac_denied")])
async def test_what_fails_as_a_whole_is_unknown_for_every_node(facts, ledger, loop, broken, reason):
    async with running(facts.run(), loop([planned("a", "b", broken=broken)]).run()):
        await until(lambda: len(ledger.latest()) == 2)
    assert runs(ledger) == {"a": [("unknown", reason)], "b": [("unknown", reason)]}
    assert ledger.get(("visibility.zones", "zones", "a")).run.outcome == "error"


async def test_a_change_in_the_cluster_has_it_judged_again_long_before_it_is_due(api, facts, ledger, loop):
    async with running(facts.run(), loop([planned("a")]).run()):
        await until(lambda: runs(ledger) == {"a": [("fail", "")]})
        api.put(NODES, {"metadata": {"name": "a", "labels": {"zone": "1"}}})
        await until(lambda: runs(ledger) == {"a": [("pass", "")]})


async def test_a_change_replaces_the_runs_of_the_nodes_that_it_concerns_and_no_others(api, facts, ledger, loop):
    for name in ("a", "b"):
        api.put(NODES, {"metadata": {"name": name, "labels": {"zone": "1"}}})
    async with running(facts.run(), loop([planned("a", "b")]).run()):
        await until(lambda: runs(ledger) == {"a": [("pass", "")], "b": [("pass", "")]})
        untouched = ledger.get(("visibility.zones", "zones", "b"))
        api.put(NODES, {"metadata": {"name": "a"}})
        await until(lambda: runs(ledger)["a"] == [("fail", "")])
    assert ledger.get(("visibility.zones", "zones", "b")) is untouched


async def test_without_a_change_it_runs_when_it_is_due(facts, ledger, loop):
    async with running(facts.run(), loop([planned("a", every=0.02)]).run()):
        await until(lambda: ledger.seq > 3)


async def test_another_plan_runs_at_once_and_what_it_leaves_out_is_dropped(facts, ledger, loop):
    plan = [planned("a", "b")]
    probes = loop(plan)
    async with running(facts.run(), probes.run()):
        await until(lambda: len(ledger.latest()) == 2)
        plan[:] = [planned("a", digest="d2")]
        probes.wake()
        await until(lambda: set(runs(ledger)) == {"a"})
        await until(lambda: ledger.get(("visibility.zones", "zones", "a")).run.plan_digest == "d2")


async def test_settings_that_do_not_fit_are_unknown_for_every_node(facts, ledger, loop):
    async with running(facts.run(), loop([planned("a", wrong=1, label=5)]).run()):
        await until(ledger.latest)
    assert runs(ledger) == {"a": [("unknown", "wrong_settings")]}


async def test_a_probe_that_hangs_times_out_and_is_not_started_again_and_the_loop_goes_on(facts, ledger, loop):
    release, starts = threading.Event(), []

    @dataclass(frozen=True)
    class Hanging:
        label: str

        async def run(self, cluster: Cluster) -> list[Finding]:
            starts.append(cluster)
            release.wait()
            return []

    seen = []
    ledger.listen(lambda record: seen.append(record.run.findings[0].reason))
    async with running(facts.run(), loop([planned("a", every=0.01, limit=0.01)], Hanging).run()):
        await until(lambda: "previous_run_hung" in seen)
        release.set()
    assert seen[0] == "timeout"
    assert len(starts) == 1


async def test_what_a_nodes_agent_sees_has_the_cluster_judged_again(facts, ledger, loop):
    @dataclass(frozen=True)
    class Held:
        label: str

        async def run(self, cluster: Cluster) -> list[Finding]:
            return [Finding(Subject(node="a"), Status.PASS, "", f"a: {cluster.readings}")]

    gone = Finding(Subject(node="a", device="mlx5_7"), Status.FAIL, "device_missing", "mlx5_7: none found, one wanted")
    async with running(facts.run(), loop([planned("a")], Held).run()):
        await until(ledger.latest)
        assert ledger.get(("visibility.zones", "zones", "a")).run.findings[0].summary == "a: {}"
        ledger.put(Run("access.ports", "ports", "a", "host", (gone,), 1.0, 2.0, "d1", "", "1"))
        wanted = f"a: { {'a': NodeReading({'ports': (SeenHca('mlx5_7', False),)})} }"
        await until(lambda: ledger.get(("visibility.zones", "zones", "a")).run.findings[0].summary == wanted)
