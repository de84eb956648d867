"""The numbers of a path test for Prometheus, by rail and class of the path."""

from collections.abc import Iterable, Iterator, Mapping
from statistics import median

from probes import Kind, Metric, Sample
from probes._endpoint import Path
from probes._path_counters import losses, retries
from probes._path_repeats import Repeat
from probes._path_report import path_labels

COUNTER_METRICS: Mapping[str, Metric] = {
    "path_lost_packets": Metric(
        Kind.GAUGE, "Gaps in the packet sequence that the ports counted in the last path test."
    ),
    "path_retries": Metric(Kind.GAUGE, "Retransmissions and timeouts that the ports counted in the last path test."),
}


def spread(path: Path, metric: str, values: Iterable[float], *, worst: float) -> Iterator[Sample]:
    """Median and worst of a test's repeats."""
    labels = path_labels(path)
    yield Sample(metric, median(values), {**labels, "stat": "median"})
    yield Sample(metric, worst, {**labels, "stat": "worst"})


def counted(path: Path, repeats: Iterable[Repeat]) -> Iterator[Sample]:
    """What the ports of both ends counted as lost and repeated, over all judged repeats."""
    views = [view for repeat in repeats for view in repeat.views]
    if views:
        labels = path_labels(path)
        yield Sample("path_lost_packets", sum(map(losses, views)), labels)
        yield Sample("path_retries", sum(map(retries, views)), labels)
