"""A bandwidth test of one path: the median of the repeats is what targets are held against."""

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median

from probes import Finding, Measured
from probes._endpoint import Path, TestRequest, Tool
from probes._path_counters import Allowance
from probes._path_repeats import Tested, repeat_test
from probes._path_report import passed, troubled, with_evidence
from probes._path_samples import counted, spread

ITERATIONS_AT_LEAST = 5


@dataclass(frozen=True, slots=True)
class Volume:
    """How much one repeat sends: ``bytes`` in messages of ``message_bytes``, spread over the queue pairs."""

    message_bytes: int
    bytes: int
    queue_pairs: int = 1

    @property
    def iterations(self) -> int:
        """Messages for each queue pair; never fewer than perftest accepts."""
        return max(ITERATIONS_AT_LEAST, self.bytes // (self.message_bytes * self.queue_pairs))


def bandwidth_request(tool: Tool, volume: Volume, limit_seconds: float) -> TestRequest:
    """The client's request; HCA, peer and port are filled in for each end."""
    return TestRequest(
        tool=tool,
        hca="",
        peer="",
        message_bytes=volume.message_bytes,
        iterations=volume.iterations,
        limit_seconds=limit_seconds,
        queue_pairs=volume.queue_pairs,
    )


async def measure_bandwidth(
    path: Path, request: TestRequest, repeats: int, allowance: Allowance, metric: str
) -> Iterable[Finding]:
    """Test the path and report ``metric`` in bytes per second, exactly as the tool printed it."""
    tested = await repeat_test(path, request, repeats, allowance=allowance)
    return (with_evidence(_judged(path, tested, request, metric), tested.exchanges),)


def _judged(path: Path, tested: Tested, request: TestRequest, metric: str) -> Finding:
    samples = tuple(counted(path, tested.repeats))
    if tested.problem:
        return troubled(path, tested.problem, samples=samples)
    values = [float(repeat.reading.value or 0) for repeat in tested.repeats]
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
