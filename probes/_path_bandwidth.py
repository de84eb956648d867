"""A bandwidth test of one path: the median of the repeats is what targets are held against."""

from collections.abc import Iterable
from statistics import median
from typing import Protocol

from probes import Finding, Measured
from probes._endpoint import Buffer, Path, TestRequest, Tool
from probes._path_counters import Allowance
from probes._path_repeats import Tested, repeat_test
from probes._path_report import passed, troubled, with_evidence
from probes._path_samples import counted, spread

ITERATIONS_AT_LEAST = 5


class BandwidthSettings(Protocol):
    """What each bandwidth probe is set to: bytes of a message and of a run, and what is forgiven."""

    @property
    def message(self) -> int: ...
    @property
    def volume(self) -> int: ...
    @property
    def queue_pairs(self) -> int: ...
    @property
    def repeats(self) -> int: ...
    @property
    def test_limit(self) -> float: ...
    @property
    def errors_at_most(self) -> int: ...
    @property
    def losses_at_most(self) -> float: ...


def sent_bytes(settings: BandwidthSettings, runs: int | None = None) -> int:
    """Bytes that one run of the probe sends over its path: of ``runs``, or of a warm-up and the repeats."""
    count = settings.repeats + 1 if runs is None else runs
    return count * _iterations(settings) * settings.message * settings.queue_pairs


async def measure_bandwidth(path: Path, settings: BandwidthSettings, tool: Tool, metric: str) -> Iterable[Finding]:
    """Test the path and report ``metric`` in bytes per second, exactly as the tool printed it."""
    request = bandwidth_request(settings, tool)
    tested = await repeat_test(path, request, settings.repeats, allowance=allowance_of(settings))
    return (with_evidence(_judged(path, tested, request, metric), tested.exchanges),)


def bandwidth_request(settings: BandwidthSettings, tool: Tool, buffer: Buffer = Buffer.HOST) -> TestRequest:
    """The request of one run; HCA, peer and port are filled in for each end."""
    return TestRequest(
        tool=tool,
        hca="",
        peer="",
        message_bytes=settings.message,
        iterations=_iterations(settings),
        limit_seconds=settings.test_limit,
        queue_pairs=settings.queue_pairs,
        buffer=buffer,
    )


def allowance_of(settings: BandwidthSettings) -> Allowance:
    """What the ports may count."""
    return Allowance(settings.errors_at_most, settings.losses_at_most)


def bandwidths(tested: Tested) -> list[float]:
    """Bytes per second of each repeat."""
    return [float(repeat.reading.value or 0) for repeat in tested.repeats]


def _iterations(settings: BandwidthSettings) -> int:
    """Messages for each queue pair; never fewer than perftest accepts."""
    return max(ITERATIONS_AT_LEAST, settings.volume // (settings.message * settings.queue_pairs))


def _judged(path: Path, tested: Tested, request: TestRequest, metric: str) -> Finding:
    samples = tuple(counted(path, tested.repeats))
    if tested.problem:
        return troubled(path, tested.problem, samples=samples)
    values = bandwidths(tested)
    middle = median(values)
    sentence = (
        f"{middle * 8 / 1e9:.6g} Gbit/s, median of {len(values)} runs of {request.payload_bytes} bytes"
        f" in messages of {request.message_bytes}; a clean run wanted"
    )
    return passed(
        path,
        sentence,
        samples=(*spread(path, metric, values, worst=min(values)), *samples),
        measured=(Measured("bandwidth", middle),),
    )
