"""Collectives on the wire: one set of series a group, none twice, and none left of a group that is forgotten."""

from dataclasses import replace

import pytest
from prometheus_client.parser import text_string_to_metric_families

from exporter import registry
from exporter.evidence import EvidenceStore
from exporter.gate.group_results import facts_of_group
from exporter.ledger import Ledger
from exporter.metrics.blocks import BlockStore
from exporter.metrics.records import RecordMetrics
from probes import Finding, Run, Status
from probes._targets import Target
from probes.transfers.collectives import Probe
from tests.fixtures.groups.group_ends import changed, on_every_rank, pair

PROBE = "transfers.collectives"
TARGET = Target("bus_bandwidth", "acceptance run", at_least=100e9)
SERIES_OF_A_GROUP_AT_MOST = 32


@pytest.fixture
def ledger():
    return Ledger(None, EvidenceStore(None), lambda: 1000.0)


@pytest.fixture
def store():
    return BlockStore()


@pytest.fixture
def metrics(store, ledger):
    return RecordMetrics(store, ledger, "gate", registry.probes())


async def burst(changes=None) -> Finding:
    (finding,) = await Probe(message=2**30, iterations=3, warm_ups=1).run(pair(changes))
    return finding


def put(ledger, finding):
    facts = facts_of_group("node-a+node-b", ("node-a", "node-b"), 4, searches=False)
    whole = replace(finding, facts={**finding.facts, **facts})
    run = Run(PROBE, "ar", "node-a+node-b#12345678", "host", (whole,), 1.0, 3.5, "plan-1", "boot-1", "0.1.0")
    return ledger.put(run, targets=(TARGET,), fresh_seconds=210, pool="h100")


def series(store: BlockStore, name: str) -> dict[tuple[str, ...], float]:
    text = b"".join(store.parts()).decode()
    found = [one for family in text_string_to_metric_families(text) for one in family.samples]
    return {
        tuple(f"{key}={value}" for key, value in sorted(one.labels.items()) if value): one.value
        for one in found
        if one.name == f"rdma_gate_{name}"
    }


HERE = ("collective=all_reduce", "group=node-a+node-b", "id=ar", "node=node-a", "pool=h100")


async def test_a_collective_is_shown_with_its_group_and_transport(metrics, store, ledger):
    put(ledger, await burst())
    assert series(store, "collective_bus_bandwidth_bytes_per_second") == {HERE: pytest.approx(2**30 / 0.011 * 1.5)}
    assert series(store, "collective_latency_seconds") == {(*HERE, "quantile=0.5"): 0.011}
    assert series(store, "collective_ranks") == {HERE: 4.0}
    assert series(store, "collective_wrong_elements") == {HERE: 0.0}
    held = {labels[-1]: value for labels, value in series(store, "collective_transport").items()}
    assert {name: value for name, value in held.items() if value} == {"transport=rdma_gdr": 1.0}
    assert "transport=tcp" in held


async def test_the_agreed_target_is_shown_of_the_group_with_its_median_ratio(metrics, store, ledger):
    put(ledger, await burst())
    put(ledger, await burst(on_every_rank(changed(seconds=(0.022,) * 3))))
    labels = (
        "bound=at_least",
        "group=node-a+node-b",
        "id=ar",
        "metric=bus_bandwidth",
        "node=node-a",
        "pool=h100",
        f"probe={PROBE}",
    )
    assert series(store, "target") == {labels: 100e9}
    assert series(store, "target_ratio") == {labels: pytest.approx(2**30 / 0.011 * 1.5 / 100e9)}
    assert series(store, "runs_in_window") == {labels: 2.0}


async def test_a_failure_is_shown_of_each_node_that_it_may_be_about(metrics, store, ledger):
    put(ledger, await burst({1: changed(wrong=7)}))
    nodes = [label for labels in series(store, "failure") for label in labels if label.startswith("node=")]
    assert nodes == ["node=node-a", "node=node-b"]
    put(ledger, await burst({3: changed(exit_status=-9, seconds=(), detail="rank_died: rank 3 ended")}))
    (labels,) = series(store, "failure")
    assert {"node=node-b", "reason=rank_died", "owner=gpu", "check=transfers"} <= {*labels}


async def test_a_group_has_few_series_and_no_line_twice(metrics, store, ledger):
    put(ledger, await burst())
    lines = [line for line in b"".join(store.parts()).decode().splitlines() if not line.startswith("#")]
    names = [line.rpartition(" ")[0] for line in lines]
    assert len(names) == len({*names})
    assert len([name for name in names if "probe_runs_total" not in name]) <= SERIES_OF_A_GROUP_AT_MOST


async def test_a_group_that_is_forgotten_is_shown_no_longer(metrics, store, ledger):
    record = put(ledger, await burst())
    ledger.drop(record.key)
    metrics.forget_dropped()
    assert series(store, "collective_ranks") == {}
    assert series(store, "target_ratio") == {}


async def test_an_unjudged_size_leaves_no_bandwidth(metrics, store, ledger):
    finding = await burst(on_every_rank(changed(message_bytes=2**20)))
    put(ledger, finding)
    assert (finding.status, series(store, "collective_bus_bandwidth_bytes_per_second")) == (Status.UNKNOWN, {})
