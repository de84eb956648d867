"""A path moves data by RDMA writes (`ib_write_bw`) at the bandwidth that was agreed.

One warm-up is kept and not judged, then ``repeats`` runs must each be clean: both tools end well, over the HCA and GID
that were asked for, with each other and nobody else, with as many messages as requested; the ports' counters rise by
the payload at least, and show no errors. Each ordered pair of HCAs is a path of its own. A clean run passes only
against a target of the plan, and misses it only when the next run misses it as well.

Settings:

- ``hcas``: the class of planned HCAs between which the gate makes paths
- ``message``: bytes in each message; ``volume``: bytes in each run, so that a test is bounded by bytes
- ``queue_pairs``, ``repeats``: as they say; ``test_limit``: seconds for one run of the tool
- ``errors_at_most``: errors that the ports may count in a run
- ``losses_at_most``: share of the packets that may be missing in the sequence (three are always forgiven)

Measures ``bandwidth`` in bytes per second, the median of the repeats. The tool's own number is converted exactly.

It cannot see: GPU buffers (the data lies in host memory), and paths that the queue pairs' hash never chose. A short
run shows less than a long one, so targets come from runs of the same volume.
Sources: linux-rdma perftest; the kernel's RDMA counters.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from probes import Bytes, Finding, HcaClass, Kind, Metric, Ratio, Seconds
from probes._endpoint import Path, Tool
from probes._path_bandwidth import measure_bandwidth, sent_bytes
from probes._path_reasons import PATH_REASONS
from probes._path_samples import COUNTER_METRICS

METRICS = {
    "write_bandwidth_bytes_per_second": Metric(Kind.GAUGE, "Bandwidth of RDMA writes, over the repeats of a test."),
    **COUNTER_METRICS,
}
REASONS = PATH_REASONS


@dataclass(frozen=True)
class Probe:
    """Settings in base units; see the module's text."""

    hcas: HcaClass
    message: Bytes = 8 * 2**20
    volume: Bytes = 1600 * 2**20
    queue_pairs: int = 1
    repeats: int = 3
    test_limit: Seconds = 10.0
    errors_at_most: int = 0
    losses_at_most: Ratio = 0.001

    @property
    def run_bytes(self) -> int:
        """Bytes that one run sends over its path, the warm-up included."""
        return sent_bytes(self)

    async def run(self, path: Path) -> Iterable[Finding]:
        """Test the path from its client to its server."""
        return await measure_bandwidth(path, self, Tool.WRITE_BW, "write_bandwidth_bytes_per_second")
