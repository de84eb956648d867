import math
import random
from decimal import Decimal

import pytest

from probes.tools.percentiles import percentile


@pytest.mark.parametrize("count", [20, 21, 99, 100, 1000, 1001, 2500])
@pytest.mark.parametrize("quantile", [0.5, 0.95, 0.99])
def test_the_percentile_is_the_first_sample_that_enough_others_do_not_exceed(count: int, quantile: float) -> None:
    samples = [Decimal(random.Random(count * 7 + index).randint(1, 500)) for index in range(count)]
    if quantile == 0.99 and count < 1000:
        assert percentile(samples, quantile) is None
        return
    needed = math.ceil(round(quantile * count, 6))
    expected = next(s for s in sorted(samples) if sum(1 for other in samples if other <= s) >= needed)
    assert percentile(samples, quantile) == expected


def test_too_few_samples_have_no_percentile() -> None:
    samples = [Decimal(n) for n in range(1, 20)]
    assert percentile(samples, 0.95) is None
    assert percentile([*samples, Decimal(20)], 0.95) == 19
    assert percentile([], 0.5) is None


def test_a_quantile_out_of_range_is_refused() -> None:
    with pytest.raises(ValueError, match="less than 1 wanted"):
        percentile([Decimal(1)], 1.0)
