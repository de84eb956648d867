"""A path carries messages that the receiver takes (`ib_send_bw`), and both ports count them.

One warm-up is kept and not judged, then ``repeats`` runs must each be clean: both tools end well, over the HCA and GID
that were asked for, with each other and nobody else, with as many messages as requested; the ports' counters rise by
the payload at least, and show no errors. Each ordered pair of HCAs is a path of its own.

Settings:

- ``hcas``: the class of planned HCAs between which the gate makes paths
- ``message``: bytes in each message; ``volume``: bytes in each run, so that a test is bounded by bytes
- ``queue_pairs``, ``repeats``: as they say; ``test_limit``: seconds for one run of the tool
- ``errors_at_most``: errors that the ports may count in a run
- ``losses_at_most``: share of the packets that may be missing in the sequence (three are always forgiven)

Measures ``bandwidth`` in bytes per second, the median of the repeats.

It cannot see: paths that the queue pairs' hash never chose, and what a lossless class of traffic would do under load.
Sources: linux-rdma perftest; the kernel's RDMA counters.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from probes import Bytes, Finding, HcaClass, Kind, Metric, Ratio, Seconds
from probes._endpoint import Path, Tool
from probes._path_bandwidth import Volume, bandwidth_request, measure_bandwidth
from probes._path_counters import Allowance
from probes._path_reasons import PATH_REASONS
from probes._path_samples import COUNTER_METRICS

METRICS = {
    "send_bandwidth_bytes_per_second": Metric(Kind.GAUGE, "Bandwidth of send tests, over the repeats of a test."),
    **COUNTER_METRICS,
}
REASONS = PATH_REASONS


@dataclass(frozen=True)
class Probe:
    """Settings in base units; see the module's text."""

    hcas: HcaClass
    message: Bytes = 65536
    volume: Bytes = 64 * 2**20
    queue_pairs: int = 1
    repeats: int = 3
    test_limit: Seconds = 10.0
    errors_at_most: int = 0
    losses_at_most: Ratio = 0.001

    @property
    def run_bytes(self) -> int:
        """Bytes that one run sends over its path, the warm-up included."""
        volume = Volume(self.message, self.volume, self.queue_pairs)
        return (self.repeats + 1) * volume.iterations * self.message * self.queue_pairs

    async def run(self, path: Path) -> Iterable[Finding]:
        """Test the path from its client to its server."""
        volume = Volume(self.message, self.volume, self.queue_pairs)
        request = bandwidth_request(Tool.SEND_BW, volume, self.test_limit)
        allowance = Allowance(self.errors_at_most, self.losses_at_most)
        return await measure_bandwidth(path, request, self.repeats, allowance, "send_bandwidth_bytes_per_second")
