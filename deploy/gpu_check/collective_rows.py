"""Bursts by both ways: five collectives from 8 bytes to 1 GiB, right data, and one speed by either."""

from decimal import Decimal
from statistics import fmean, median

from deploy.gpu_check.bench import GIBIBYTE, Bench, FailedError, NotRunError, RowFunction, Rows, sound
from probes._collective_size import bus_factor
from probes._group import BurstOutcome, BurstRequest, BurstWay, Collective
from probes.tools.nccl_tests import read_nccl_tests

SIZES = (8, 1 << 10, 1 << 15, 1 << 20, 1 << 25, GIBIBYTE)
AGREE_WITHIN = 0.15


def bus_bytes_per_second(outcome: BurstOutcome, request: BurstRequest) -> float:
    """Return the bus bandwidth by the mean time of all iterations and ranks, as nccl-tests does."""
    seconds = fmean(fmean(rank.seconds) for rank in outcome.ranks)
    return request.message_bytes * bus_factor(request.collective, request.ranks) / seconds


def _by_nccl4py(collective: Collective) -> RowFunction:
    async def run(bench: Bench) -> str:
        told = []
        for size in SIZES:
            request = bench.burst(collective, size)
            outcome = await bench.run(f"nccl4py-{collective}-{size}", request)
            sound(outcome, request)
            bus = bus_bytes_per_second(outcome, request)
            middle = median(max(times) for times in zip(*(rank.seconds for rank in outcome.ranks), strict=True))
            told.append(f"{request.message_bytes} B {middle * 1e6:.1f} us {bus / 1e9:.2f} GB/s")
            bench.say(f"    NCCL {outcome.nccl_version}: {told[-1]}")
        bench.measured[BurstWay.NCCL4PY, collective] = bus
        return f"data right at every size; {told[0]}; {told[-1]}"

    run.__doc__ = f"{collective} by nccl4py."
    return run


def _by_nccl_tests(collective: Collective) -> RowFunction:
    async def run(bench: Bench) -> str:
        request = bench.burst(collective, GIBIBYTE, way=BurstWay.NCCL_TESTS)
        outcome = await bench.run(f"nccl-tests-{collective}", request)
        sound(outcome, request)
        report = read_nccl_tests(outcome.stdout)
        timing = report.rows[-1].timing if report.rows else None
        if timing is None:
            raise FailedError("no row in the output found, one wanted")
        bench.measured[BurstWay.NCCL_TESTS, collective] = float(timing.bus_bytes_per_second)
        bandwidth, times = timing.bus_bytes_per_second / Decimal(10**9), len(outcome.ranks[0].seconds)
        versions = f"nccl-tests {report.tests_version or 'of unknown version'} on NCCL {report.nccl_version}"
        return f"{versions}: {bandwidth:.2f} GB/s, {times} single times"

    run.__doc__ = f"{collective} by nccl-tests."
    return run


async def agreement(bench: Bench) -> str:
    """Both ways find the same bus bandwidth at 1 GiB."""
    told, apart = [], []
    for collective in Collective:
        ours = bench.measured.get((BurstWay.NCCL4PY, collective))
        theirs = bench.measured.get((BurstWay.NCCL_TESTS, collective))
        if not ours or not theirs:
            continue
        told.append(f"{collective} {ours / theirs - 1:+.1%}")
        if abs(ours / theirs - 1) > AGREE_WITHIN:
            apart.append(collective)
    if not told:
        raise NotRunError("no collective of more than one rank was measured both ways")
    if apart:
        raise FailedError(f"{', '.join(told)} found, at most {AGREE_WITHIN:.0%} apart wanted")
    return f"nccl4py against nccl-tests: {', '.join(told)}"


ROWS: Rows = {
    **{f"{collective} by nccl4py": _by_nccl4py(collective) for collective in Collective},
    **{f"{collective} by nccl-tests": _by_nccl_tests(collective) for collective in Collective},
    "agreement at 1 GiB": agreement,
}
