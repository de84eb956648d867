"""Small RDMA writes cross a path (`ib_write_lat`) within the latency that was agreed.

One warm-up is kept and not judged, then ``repeats`` runs must each be clean: both tools end well, over the HCA and GID
that were asked for, with each other and nobody else, with as many messages as requested; the ports' counters rise by
the payload at least, and show no errors. Each ordered pair of HCAs is a path of its own. A clean run passes only
against a target of the plan, and misses it only when the next run misses it as well.

Settings:

- ``hcas``: the class of planned HCAs between which the gate makes paths
- ``message``: bytes in each message; ``iterations``: messages each way
- ``repeats``: as it says; ``test_limit``: seconds for one run of the tool
- ``errors_at_most``: errors that the ports may count in a run
- ``losses_at_most``: share of the packets that may be missing in the sequence (three are always forgiven)

Measures ``latency`` in seconds, half a round trip as the tool reports it, at the quantiles 0.5, 0.95 (from 20 samples)
and 0.99 (from 1,000): exact ones, from the tool's raw samples, each the median of the repeats.

It cannot see: latency under load, and GPU buffers. On busy or virtual machines the CPU's delays are part of it.
Sources: linux-rdma perftest; the kernel's RDMA counters.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from statistics import median

from probes import Bytes, Finding, HcaClass, Kind, Measured, Metric, Ratio, Sample, Seconds
from probes._endpoint import Path, TestRequest, Tool
from probes._path_counters import Allowance
from probes._path_problem import Problem, unknown
from probes._path_reasons import PATH_REASONS
from probes._path_repeats import Tested, repeat_test
from probes._path_report import passed, path_labels, troubled, with_evidence
from probes._path_samples import COUNTER_METRICS, counted
from probes.tools.percentiles import percentile

QUANTILES = (0.5, 0.95, 0.99)
METRICS = {
    "write_latency_seconds": Metric(Kind.GAUGE, "Latency of RDMA writes (half a round trip), exact per-run quantiles."),
    "write_latency_samples": Metric(Kind.GAUGE, "How many samples each quantile of the write latency comes from."),
    **COUNTER_METRICS,
}
REASONS = PATH_REASONS


@dataclass(frozen=True)
class Probe:
    """Settings in base units; see the module's text."""

    hcas: HcaClass
    message: Bytes = 2
    iterations: int = 5000
    repeats: int = 3
    test_limit: Seconds = 10.0
    errors_at_most: int = 0
    losses_at_most: Ratio = 0.001

    @property
    def run_bytes(self) -> int:
        """Bytes that one run sends over its path, both ways, the warm-up included."""
        return 2 * (self.repeats + 1) * self.iterations * self.message

    async def run(self, path: Path) -> Iterable[Finding]:
        """Test the path from its client to its server."""
        request = TestRequest(Tool.WRITE_LAT, "", "", self.message, self.iterations, self.test_limit, raw_samples=True)
        allowance = Allowance(self.errors_at_most, self.losses_at_most)
        tested = await repeat_test(path, request, self.repeats, allowance=allowance)
        return (with_evidence(judge_latency(path, tested), tested.exchanges),)


def judge_latency(path: Path, tested: Tested) -> Finding:
    """Report the quantiles that there are enough samples for; a run without raw samples cannot tell."""
    samples = tuple(counted(path, tested.repeats))
    if problem := tested.problem or _unsampled(tested):
        return troubled(path, problem, samples=samples)
    runs = [repeat.reading.samples_seconds for repeat in tested.repeats]
    found = {quantile: value for quantile in QUANTILES if (value := _quantile(runs, quantile)) is not None}
    least = min(map(len, runs))
    listed = ", ".join(f"p{quantile * 100:g} {value * 1e6:.6g} us" for quantile, value in found.items())
    return passed(
        path,
        f"{listed}, medians of {len(runs)} runs of {least} samples; clean runs wanted",
        samples=(*_samples(path, found, least), *samples),
        measured=tuple(Measured("latency", value, quantile) for quantile, value in found.items()),
    )


def _unsampled(tested: Tested) -> Problem | None:
    for repeat in tested.repeats:
        found, wanted = len(repeat.reading.samples_seconds), repeat.reading.iterations or 0
        # The tool prints the differences between its time stamps, one fewer than there are messages.
        if found < wanted - 1:
            return unknown("unparsable", f"{found} raw samples printed, {wanted - 1} wanted")
    return None


def _quantile(runs: list[tuple[Decimal, ...]], quantile: float) -> float | None:
    values = [percentile(run, quantile) for run in runs]
    known = [value for value in values if value is not None]
    return float(median(known)) if len(known) == len(values) else None


def _samples(path: Path, found: dict[float, float], count: int) -> Iterator[Sample]:
    labels = path_labels(path)
    yield Sample("write_latency_samples", count, labels)
    for quantile, value in found.items():
        yield Sample("write_latency_seconds", value, {**labels, "quantile": f"{quantile:g}"})
