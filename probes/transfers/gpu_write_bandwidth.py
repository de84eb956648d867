"""A path moves data from GPU memory to GPU memory by RDMA writes (`ib_write_bw --use_cuda_bus_id`) as was agreed.

First the same path is tested with host memory as a control, then with GPU memory: a warm-up that is not judged and
``repeats`` runs, each of which must be clean as in `transfers.write_bandwidth`. Each end takes the NVIDIA GPU that is
nearest to its HCA, by its PCI address. A run counts only where both ends printed that their buffer was device memory
(UNKNOWN ``buffer_unproven``); a tool built without CUDA is UNKNOWN (``no_cuda_in_perftest``). It is a probe of its own
because its targets, its reasons and its need of a GPU are others than those of host memory.

Settings:

- ``hcas``: the class of planned HCAs between which the gate makes paths
- ``buffer``: ``cuda_dmabuf`` registers by DMA-BUF, ``cuda`` by peer memory
- ``staging_share``: below this share of the control's bandwidth it is UNKNOWN ``host_staging_suspected``
- ``message``, ``volume``, ``queue_pairs``, ``repeats``, ``test_limit``, ``errors_at_most``, ``losses_at_most``: as in
  `transfers.write_bandwidth`

Measures ``bandwidth`` in bytes per second, the median of the repeats with GPU memory.

It cannot see: whether an application takes the same way. The share is a hint with limits. perftest itself never
stages, so a low one is a slow way between GPU and HCA (a root complex or socket between, ACS or IOMMU detours) or a
driver that does; and with one GPU to a slow HCA staging may cost nothing, so a high one proves nothing. The test takes
some hundred MiB of each GPU for its context, and does not look whether a job uses the GPU.
Sources: perftest src/cuda_memory.c; the GPUDirect RDMA guide, supported systems; NCCL issue 1188 on A/B tests.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median

from probes import Bytes, Finding, HcaClass, Kind, Measured, Metric, Owner, Ratio, Reason, Sample, Seconds
from probes._endpoint import Buffer, Path, Tool
from probes._path_bandwidth import allowance_of, bandwidth_request, bandwidths, sent_bytes
from probes._path_problem import unknown
from probes._path_reasons import PATH_REASONS
from probes._path_repeats import Tested, repeat_test
from probes._path_report import passed, path_labels, troubled, with_evidence
from probes._path_samples import COUNTER_METRICS, counted, spread

METRIC = "gpu_write_bandwidth_bytes_per_second"
METRICS = {
    METRIC: Metric(Kind.GAUGE, "Bandwidth of RDMA writes between GPU memories, over the repeats of a test."),
    "gpu_write_bandwidth_host_share": Metric(
        Kind.GAUGE, "Bandwidth between GPU memories as a share of that between host memories on the same path."
    ),
    **COUNTER_METRICS,
}
REASONS = {
    **PATH_REASONS,
    "host_staging_suspected": Reason(
        "GPU memory is much slower than host memory on the same path, as if it went through host memory", Owner.GPU
    ),
    "unknown_setting": Reason("the plan names no buffer in GPU memory", Owner.PLATFORM),
}
CONTROL_RUNS = 2


@dataclass(frozen=True)
class Probe:
    """Settings in base units; see the module's text."""

    hcas: HcaClass
    buffer: Buffer
    staging_share: Ratio = 0.6
    message: Bytes = 8 * 2**20
    volume: Bytes = 1600 * 2**20
    queue_pairs: int = 1
    repeats: int = 3
    test_limit: Seconds = 20.0
    errors_at_most: int = 0
    losses_at_most: Ratio = 0.001

    @property
    def run_bytes(self) -> int:
        """Bytes that one run sends over its path: the control, the warm-ups and the repeats."""
        return sent_bytes(self, CONTROL_RUNS + self.repeats + 1)

    async def run(self, path: Path) -> Iterable[Finding]:
        """Test the path from its client to its server: host memory first, and GPU memory if that was clean."""
        if self.buffer is Buffer.HOST:
            sentence = f"buffer {self.buffer} in the plan found, {Buffer.CUDA} or {Buffer.CUDA_DMABUF} wanted"
            return (troubled(path, unknown("unknown_setting", sentence)),)
        control = await self._test(path, Buffer.HOST, CONTROL_RUNS - 1)
        exchanges = {f"host memory, {name}": one for name, one in control.exchanges.items()}
        if control.problem:
            return (with_evidence(troubled(path, control.problem), exchanges),)
        tested = await self._test(path, self.buffer, self.repeats)
        exchanges |= {f"GPU memory, {name}": one for name, one in tested.exchanges.items()}
        return (with_evidence(self._judged(path, control, tested), exchanges),)

    async def _test(self, path: Path, buffer: Buffer, repeats: int) -> Tested:
        request = bandwidth_request(self, Tool.WRITE_BW, buffer)
        return await repeat_test(path, request, repeats, allowance=allowance_of(self))

    def _judged(self, path: Path, control: Tested, tested: Tested) -> Finding:
        samples = list(counted(path, tested.repeats))
        if tested.problem:
            return troubled(path, tested.problem, samples=samples)
        values, host = bandwidths(tested), median(bandwidths(control))
        middle = median(values)
        share = middle / host
        told = f"{_gigabits(middle)} between GPU memories and {_gigabits(host)} between host memories"
        samples = [
            *spread(path, METRIC, values, worst=min(values)),
            Sample("gpu_write_bandwidth_host_share", share, path_labels(path)),
            *samples,
        ]
        if share < self.staging_share:
            sentence = f"{told} found, {self.staging_share:.0%} of the latter wanted"
            return troubled(path, unknown("host_staging_suspected", sentence), samples=samples)
        sentence = f"{told}, median of {len(values)} runs by {self.buffer}; device memory at both ends"
        return passed(path, sentence, samples=samples, measured=(Measured("bandwidth", middle),))


def _gigabits(bytes_per_second: float) -> str:
    return f"{bytes_per_second * 8 / 1e9:.6g} Gbit/s"
