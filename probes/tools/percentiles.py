"""Exact percentiles of raw samples, and only where there are enough of them to mean something."""

import math
from collections.abc import Sequence
from decimal import Decimal
from types import MappingProxyType

SAMPLES_NEEDED = MappingProxyType({0.5: 1, 0.95: 20, 0.99: 1000, 0.999: 10000})


def percentile(samples: Sequence[Decimal], quantile: float) -> Decimal | None:
    """The nearest-rank percentile: the smallest sample that at least ``quantile`` of all do not exceed.

    None when there are too few samples: p95 needs 20 and p99 needs 1,000; any other quantile needs 1 / (1 - quantile).
    Raises ValueError when ``quantile`` is not within 0 and 1.
    """
    if not 0 < quantile < 1:
        raise ValueError(f"quantile: {quantile} found, more than 0 and less than 1 wanted")
    needed = SAMPLES_NEEDED.get(quantile) or math.ceil(1 / (1 - quantile))
    if len(samples) < needed:
        return None
    rank = math.ceil(Decimal(str(quantile)) * len(samples))
    return sorted(samples)[rank - 1]
