"""The recorded scrapes are what this program shows today."""

from pathlib import Path

from alerts.lint.emitted import SCRAPES, read_scrapes
from exporter import registry
from exporter.metrics import families
from exporter.metrics.family import Family
from tests.fixtures.scrapes import record as recording

# No machine with a kubelet, and none inside a workload's pod, is recorded.
IN_PODS = {"access.attachments", "placement.policy", "resources.allocation", "runtime.security"}
# What tests that are played back cannot show, and what only a cluster has.
NOT_THERE = {
    "rdma_gate_test_budget_left_bytes",
    "rdma_gate_tests_deferred_total",
    "rdma_gate_test_pods_gpus_requested",
    "rdma_gate_test_pods_outstanding",
}


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
