"""What a burst's times mean: algorithm and bus bandwidth as nccl-tests count them, and latencies, exact.

An iteration takes as long as its slowest rank.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from statistics import median

from probes._collective_size import bus_factor, run_bytes
from probes._group import BurstRequest, RankOutcome
from probes.tools.percentiles import percentile

QUANTILES = (0.5, 0.95, 0.99)


@dataclass(frozen=True, slots=True)
class Figures:
    """Bandwidths in bytes per second by the median iteration, latencies in seconds by quantile, of ``count`` times."""

    algorithm_bandwidth: float
    bus_bandwidth: float
    latency: Mapping[float, float]
    count: int


def figures_of(ranks: Iterable[RankOutcome], request: BurstRequest) -> Figures | None:
    """Return the figures of ranks that all ran; None where one of them has no times, or one of 0.

    A tool that told only the mean of its iterations has no quantiles.
    """
    times = [rank.seconds for rank in ranks]
    if not times or not all(times) or any(one <= 0 for some in times for one in some):
        return None
    slowest = [max(iteration) for iteration in zip(*times, strict=False)]
    algorithm = run_bytes(request.collective, request.message_bytes, len(times)) / median(slowest)
    samples = slowest if len(slowest) == request.iterations else []
    found = {quantile: value for quantile in QUANTILES if (value := _quantile(samples, quantile)) is not None}
    return Figures(algorithm, algorithm * bus_factor(request.collective, len(times)), found, len(slowest))


def _quantile(samples: Sequence[float], quantile: float) -> float | None:
    found = percentile([Decimal(one) for one in samples], quantile)
    return None if found is None else float(found)
