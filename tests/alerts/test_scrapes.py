"""The recorded scrapes are what this program shows today."""

from pathlib import Path

from alerts.lint.emitted import IN_CLUSTER, SCRAPES, TARGET_LABELS, read_scrapes
from exporter import registry
from exporter.cluster.count import Count
from exporter.metrics import families
from exporter.metrics.blocks import BlockStore
from exporter.metrics.family import Family
from exporter.metrics.own import OwnCost, cost_points
from exporter.pods.held import Outstanding
from tests.fixtures.scrapes import record as recording

# No machine with a kubelet, and none inside a workload's pod, is recorded.
IN_PODS = {"access.attachments", "placement.policy", "resources.allocation", "runtime.security"}
# What tests that are played back cannot show, and what only a cluster has.
NOT_THERE = {"rdma_gate_test_budget_left_bytes", "rdma_gate_tests_deferred_total", *IN_CLUSTER}


def test_every_family_of_the_program_is_in_them():
    own = {one.full_name for one in vars(families).values() if isinstance(one, Family)}
    # No cluster is recorded either.
    probes = [one for one in registry.probes().values() if one.kind != "cluster" and one.name not in IN_PODS]
    sampled = {f"rdma_gate_{metric}" for module in probes for metric in module.metrics}
    shown = read_scrapes(SCRAPES.glob("*.prom")).labels.keys()
    assert (own | sampled) - shown == NOT_THERE


def test_a_scrape_of_now_has_the_metrics_and_labels_of_the_recorded_ones(tmp_path: Path):
    for role, text in recording.record(tmp_path).items():
        (tmp_path / f"{role}.prom").write_text(text)
    assert read_scrapes(tmp_path.glob("*.prom")) == read_scrapes(SCRAPES.glob("*.prom"))


def test_a_gate_in_a_cluster_shows_what_the_linter_takes_it_to_show(tmp_path: Path):
    counts = (Count("nodes", 2, 0, 1, 1_000.0, readable=True),)
    cost = OwnCost(test_pods=Outstanding(1, 8, 1_000.0, 1_600.0), kinds=counts)
    store = BlockStore()
    store.put("cost", cost_points("", cost))
    shown = [line for line in b"".join(store.parts()).decode().splitlines() if "test_pod" in line or "kubern" in line]
    (tmp_path / "cluster.prom").write_text("\n".join(shown) + "\n")
    found = read_scrapes([tmp_path / "cluster.prom"])
    metrics = {metric: (found.kinds[metric], found.labels[metric] - TARGET_LABELS) for metric in found.labels}
    del metrics["up"]
    assert metrics == IN_CLUSTER
