"""What the program shows: metrics with their kind and labels, as recorded scrapes have them."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

SCRAPES = Path(__file__).parents[2] / "tests" / "fixtures" / "scrapes"
PROMETHEUS = {"up": frozenset({"job", "instance"})}
# Only a gate in a cluster shows these, and none is recorded; a test holds this table against what it would show.
IN_CLUSTER = {
    "rdma_gate_test_pods_outstanding": ("gauge", frozenset[str]()),
    "rdma_gate_test_pods_gpus_requested": ("gauge", frozenset[str]()),
    "rdma_gate_test_pod_oldest_created_timestamp_seconds": ("gauge", frozenset[str]()),
    "rdma_gate_test_pod_first_expiry_timestamp_seconds": ("gauge", frozenset[str]()),
    "rdma_gate_kubernetes_objects": ("gauge", frozenset({"kind"})),
    "rdma_gate_kubernetes_relists_total": ("counter", frozenset({"kind"})),
    "rdma_gate_kubernetes_watch_breaks_total": ("counter", frozenset({"kind"})),
    "rdma_gate_kubernetes_last_heard_timestamp_seconds": ("gauge", frozenset({"kind"})),
    "rdma_gate_kubernetes_readable": ("gauge", frozenset({"kind"})),
}
TARGET_LABELS = frozenset({"cluster", "job", "instance"})


@dataclass(frozen=True)
class Emitted:
    """``kinds`` is gauge, counter ... by metric, ``labels`` the label names that any of its samples has."""

    kinds: dict[str, str] = field(default_factory=dict)
    labels: dict[str, frozenset[str]] = field(default_factory=dict)

    def has(self, metric: str) -> bool:
        """Whether a scrape shows it, or Prometheus itself makes it."""
        return metric in self.labels


def read_scrapes(paths: Iterable[Path]) -> Emitted:
    """Return what these files in text format show together, and Prometheus' own series."""
    kinds: dict[str, str] = {"up": "gauge"}
    labels: defaultdict[str, set[str]] = defaultdict(set)
    for path in paths:
        for family in text_string_to_metric_families(path.read_text()):
            for sample in family.samples:
                kinds[sample.name] = family.type
                labels[sample.name] |= sample.labels.keys()
    found = {metric: frozenset(names) | TARGET_LABELS for metric, names in labels.items()}
    return Emitted(kinds, {**found, **{metric: names | TARGET_LABELS for metric, names in PROMETHEUS.items()}})


def program() -> Emitted:
    """Return what the recorded scrapes of this program show, and what it shows in a cluster."""
    found = read_scrapes(sorted(SCRAPES.glob("*.prom")))
    kinds = {metric: kind for metric, (kind, _) in IN_CLUSTER.items()}
    labels = {metric: names | TARGET_LABELS for metric, (_, names) in IN_CLUSTER.items()}
    return Emitted({**kinds, **found.kinds}, {**labels, **found.labels})
