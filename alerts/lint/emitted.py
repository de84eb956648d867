"""What the program shows: metrics with their kind and labels, as recorded scrapes have them."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

SCRAPES = Path(__file__).parents[2] / "tests" / "fixtures" / "scrapes"
PROMETHEUS = {"up": frozenset({"job", "instance"})}
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
    """Return what the recorded scrapes of this program show."""
    return read_scrapes(sorted(SCRAPES.glob("*.prom")))
