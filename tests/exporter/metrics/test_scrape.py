import gzip
import subprocess
from dataclasses import replace

import pytest
from prometheus_client.parser import text_string_to_metric_families

from exporter import registry
from exporter.evidence import EvidenceStore
from exporter.ledger import Ledger
from exporter.metrics import families
from exporter.metrics.blocks import BlockStore
from exporter.metrics.family import Family, header
from exporter.metrics.lag import WINDOW_TICKS, LoopLag
from exporter.metrics.own import OwnCost
from exporter.metrics.records import RecordMetrics
from exporter.metrics.scrape import Scrape
from probes import Finding, Kind, Metric, Run, Sample, Status, Subject

COST = OwnCost(
    test_bytes={"sent": 1024, "received": 2048},
    deferrals={"paused": 2, "budget": 1},
    outstanding=1,
    budget_bytes=10 * 2**30,
    budget_left_bytes=9 * 2**30,
    paused={"node": True},
)
MODULES = {
    "access.ports": registry.ProbeModule(
        "access.ports",
        "access",
        2,
        "host",
        object,
        {},
        {"port_state": Metric(Kind.GAUGE, "1 when active.")},
        frozenset(),
        "",
    )
}


@pytest.fixture
def ledger():
    return Ledger(None, EvidenceStore(None), lambda: 1000.0)


@pytest.fixture
def scrape(ledger):
    store = BlockStore()
    records = RecordMetrics(store, ledger, "node-a", MODULES)
    return Scrape("node-a", store, records, pool=lambda: "h100", cost=lambda: COST, facts={"kernel": "6.1.0"})


def put(ledger: Ledger, devices: int, node: str = "node-a") -> None:
    findings = tuple(
        Finding(Subject(node, f"mlx5_{n}", "1"), Status.FAIL, "port_down", 'odd "name"\\', (Sample("port_state", 0.0),))
        for n in range(devices)
    )
    ledger.put(Run("access.ports", "access.ports", node, "host", findings, 1.0, 2.0, "plan-1", "boot-1", "0.1.0"))


def text(scrape: Scrape) -> str:
    return b"".join(scrape.text()).decode()


def series(scrape: Scrape, name: str) -> list[tuple[dict[str, str], float]]:
    found = text_string_to_metric_families(text(scrape))
    return [(one.labels, one.value) for family in found for one in family.samples if one.name == f"rdma_gate_{name}"]


def test_the_cost_of_testing_is_told(scrape):
    assert series(scrape, "test_bytes_total") == [
        ({"direction": "sent", "node": "node-a"}, 1024.0),
        ({"direction": "received", "node": "node-a"}, 2048.0),
    ]
    assert series(scrape, "tests_deferred_total") == [
        ({"node": "node-a", "reason": "paused"}, 2.0),
        ({"node": "node-a", "reason": "budget"}, 1.0),
    ]
    assert series(scrape, "tests_outstanding") == [({"node": "node-a"}, 1.0)]
    assert series(scrape, "test_budget_left_bytes") == [({"node": "node-a"}, 9.0 * 2**30)]
    assert series(scrape, "paused") == [({"node": "node-a", "scope": "node"}, 1.0)]


def test_the_seven_checks_and_this_node_are_named(scrape):
    assert [labels["check"] for labels, _ in series(scrape, "check_info")] == list(registry.checks())
    assert series(scrape, "node_info") == [({"node": "node-a", "pool": "h100", "kernel": "6.1.0"}, 1.0)]


def test_the_cost_is_asked_at_each_scrape(scrape):
    costs = [COST, replace(COST, outstanding=0)]
    changing = replace(scrape, cost=lambda: costs.pop(0))
    assert [value for _, value in series(changing, "tests_outstanding")] == [1.0]
    assert [value for _, value in series(changing, "tests_outstanding")] == [0.0]


async def test_both_forms_of_a_scrape_name_the_same_series(scrape, ledger):
    put(ledger, 3)
    packed = gzip.decompress(b"".join(await scrape.compressed())).decode()
    assert [line.rpartition(" ")[0] for line in packed.splitlines()] == [
        line.rpartition(" ")[0] for line in text(scrape).splitlines()
    ]


def test_every_family_stands_once_and_every_line_can_be_read(scrape, ledger):
    put(ledger, 3)
    lines = text(scrape).splitlines()
    headed = [line.split()[2] for line in lines if line.startswith("# TYPE ")]
    assert len(headed) == len(set(headed))
    assert sum(not line.startswith("#") for line in lines) == sum(
        len(family.samples) for family in text_string_to_metric_families(text(scrape))
    )


def test_a_node_with_eight_hcas_stays_far_below_its_ceiling(scrape, ledger):
    put(ledger, 8)
    text(scrape)
    assert scrape.store.series < 100


def test_promtool_finds_nothing_to_complain_about(scrape, ledger, program):
    promtool = program("promtool")
    put(ledger, 3)
    every = [one for one in vars(families).values() if isinstance(one, Family)]
    shown = text(scrape)
    unused = "".join(header(one).decode() for one in every if f"# TYPE {one.full_name} " not in shown)
    found = subprocess.run(
        [promtool, "check", "metrics"], check=False, input=shown + unused, capture_output=True, text=True
    )
    complaints = [line for line in (found.stdout + found.stderr).splitlines() if line.startswith("rdma_gate_")]
    assert complaints == []


def test_the_lag_is_the_worst_of_the_last_minute():
    lag = LoopLag()
    assert lag.worst_seconds == 0.0
    lag.note(0.5)
    for _ in range(WINDOW_TICKS - 1):
        lag.note(-0.001)
    assert lag.worst_seconds == 0.5
    lag.note(0.002)
    assert lag.worst_seconds == 0.002
