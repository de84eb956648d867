"""What the nodes' own runs tell of their devices becomes a fact, as long as it is fresh, and is news when it moves."""

from dataclasses import dataclass

import pytest

from exporter.cluster.node_readings import NodeReadings
from exporter.evidence import EvidenceStore
from exporter.ledger import Ledger
from probes import Finding, Run, Status, Subject
from probes._node_reading import NodeReading, SeenHca

MISSING = Finding(Subject(node="a", device="mlx5_1"), Status.FAIL, "device_missing", "mlx5_1: none found, one wanted")
THERE = Finding(Subject(node="a", device="mlx5_0"), Status.PASS, "", "mlx5_0: there", facts={"driver": "mlx5_core"})
COUNTED = Finding(Subject(node="a", resource="functions"), Status.PASS, "", "functions: 8", facts={"15b3": "8"})


@dataclass
class Hand:
    seconds: float = 1_000.0

    def now(self):
        return self.seconds


@pytest.fixture
def hand():
    return Hand()


@pytest.fixture
def ledger(tmp_path, hand):
    return Ledger(None, EvidenceStore(tmp_path), hand.now)


def run(probe, *findings, run_id="", node="a"):
    return Run(probe, run_id or probe, node, "host", findings, 1.0, 2.0, "digest", "boot", "1")


async def test_ports_tell_which_planned_hcas_are_there(ledger):
    readings = NodeReadings(ledger, lambda: None)
    ledger.put(run("access.ports", THERE, MISSING), fresh_seconds=60)
    seen = (SeenHca("mlx5_0", True, driver="mlx5_core"), SeenHca("mlx5_1", False))
    assert readings.of(["a", "b"]) == {"a": NodeReading({"access.ports": seen})}


async def test_the_probe_that_counts_functions_goes_before_that_of_ports(ledger):
    ledger.put(run("access.ports", THERE, MISSING))
    ledger.put(run("visibility.devices", THERE, COUNTED))
    seen = {"visibility.devices": (SeenHca("mlx5_0", True, driver="mlx5_core"),)}
    assert NodeReadings(ledger, lambda: None).of(["a"]) == {"a": NodeReading(seen, {"15b3": 8})}


async def test_what_is_no_longer_fresh_is_not_told(ledger, hand):
    readings = NodeReadings(ledger, lambda: None)
    ledger.put(run("access.ports", THERE), fresh_seconds=60)
    hand.seconds += 60
    assert "a" in readings.of(["a"])
    hand.seconds += 1
    assert readings.of(["a"]) == {}


async def test_only_what_moves_is_news(ledger):
    news = []
    NodeReadings(ledger, lambda: news.append(1))
    ledger.put(run("access.ports", THERE))
    ledger.put(run("access.ports", THERE))
    ledger.put(run("access.gids", MISSING))
    ledger.put(run("access.ports", THERE, run_id="access.ports@pod"))
    assert len(news) == 1
    ledger.put(run("access.ports", THERE, MISSING))
    assert len(news) == 2
