"""One metric family as bytes: its header once, its samples by the rendering of prometheus_client itself."""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from prometheus_client.core import Metric
from prometheus_client.exposition import generate_latest

from probes import Kind

PREFIX = "rdma_gate_"
LABEL_VALUE_LIMIT = 256


@dataclass(frozen=True, slots=True)
class Family:
    """A metric family; ``name`` is without the prefix, and a counter's ends in ``_total``."""

    name: str
    help: str
    kind: Kind = Kind.GAUGE

    @property
    def full_name(self) -> str:
        """The name on the wire."""
        return PREFIX + self.name


@dataclass(frozen=True, slots=True)
class Point:
    """One sample of a family."""

    labels: Mapping[str, str]
    value: float


@cache
def header(family: Family) -> bytes:
    """Return the family's HELP and TYPE lines."""
    return generate_latest(_One(_metric(family)))


def render(family: Family, points: Iterable[Point]) -> bytes:
    """Return one line for each distinct label set, the last value of each; NaN is left out."""
    metric = _metric(family)
    for labels, value in _distinct(points).items():
        metric.add_sample(family.full_name, dict(labels), value)
    return generate_latest(_One(metric))[len(header(family)) :]


class _One:
    def __init__(self, metric: Metric) -> None:
        self._metric = metric

    def collect(self) -> Iterator[Metric]:
        yield self._metric


def _metric(family: Family) -> Metric:
    return Metric(family.full_name.removesuffix("_total"), family.help, family.kind.value)


def _distinct(points: Iterable[Point]) -> dict[tuple[tuple[str, str], ...], float]:
    return {
        tuple(sorted((name, _clean(value)) for name, value in point.labels.items())): point.value
        for point in points
        if not math.isnan(point.value)
    }


def _clean(value: str) -> str:
    # Text from sysfs may hold bytes that are no UTF-8, which would make the whole scrape unreadable.
    return value.encode(errors="replace").decode()[:LABEL_VALUE_LIMIT]
