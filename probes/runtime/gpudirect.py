"""GPU memory can be registered with each planned HCA, by DMA-BUF or by peer memory, as the plan says.

Reads ``/proc/driver/nvidia/version`` and the module's taint (open or proprietary kernel modules), the kernel's version,
the peer-memory module and whether the RDMA core took it (``/sys/module/ib_core/holders``, ``memory_peers``), and asks
two sides in short child processes: CUDA for each GPU's DMA-BUF attribute (no context is made), and each HCA's driver by
registering a DMA-BUF with an invalid descriptor: EBADF is a driver that knows DMA-BUF, EOPNOTSUPP one that does not.
Versions are held against a table of rules with their sources.

Passes for an HCA when the planned way can be in effect.

Settings:
  hcas   the planned HCAs
  mode   ``dmabuf``, ``peermem``, ``any`` of the two, or ``none`` where GPUDirect was agreed to be off; without a plan
         nobody has said which, and nothing is judged

Cannot see: that a transfer really takes the way; both sides may be able and IOMMU, ACS or a library's settings forbid
it. Only ``transfers.gpu_write_bandwidth`` and NCCL's channel lines prove it. A loaded nvidia_peermem is necessary for
peer memory and proves nothing; it may also have been built without the RDMA core's interface. For AMD the GPU's side is
the kernel's configuration, and absent files of peer memory tell nothing. A container without the driver's compute
libraries cannot ask CUDA (UNKNOWN). Software devices never have GPUDirect.

Sources: CUDA driver API, CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED; NCCL and RCCL net_ib.cc; ibv_reg_mr(3); NVIDIA GPU
Operator, GPUDirect RDMA; Linux Documentation/admin-guide/tainted-kernels.
"""

import asyncio
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from probes import Evidence, Finding, HcaClass, Kind, Metric, Owner, Reason, Sample, Subject
from probes._host import Command, Completed, Host, Tree
from probes._open_errors import OPEN_REASONS
from probes._problems import Problem, Shown, unknown, verdict
from probes.readers.gpudirect import GpuFacts, read_gpu_facts
from probes.readers.hcas import Expected, match_hcas
from probes.readers.sysfs import read_devices
from probes.runtime._gpudirect_answers import GpuSide, NicSide, read_gpu_side, read_nic_side
from probes.runtime._gpudirect_mode import ANY, PLANNED, Mode, Sides, mode_problems
from probes.runtime._gpudirect_rules import Judged, hold, known_facts

METRICS = {
    "gpudirect_mode": Metric(
        Kind.GAUGE, "1 for the way of GPUDirect that can be in effect for the HCA, 0 for the others."
    ),
    "gpu_dmabuf_supported": Metric(Kind.GAUGE, "1 when the CUDA driver says that the GPU supports DMA-BUF, else 0."),
    "hca_dmabuf_supported": Metric(Kind.GAUGE, "1 when the HCA's driver takes DMA-BUFs, else 0."),
}

REASONS = OPEN_REASONS | {
    "device_missing": Reason("the kernel shows no such RDMA device", Owner.PLATFORM),
    "no_gpu_visible": Reason("no GPU on PCI Express can be seen", Owner.GPU),
    "driver_missing": Reason("there is a GPU and its kernel driver is not loaded", Owner.GPU),
    "libcuda_missing": Reason("this image has no CUDA driver library, so the GPU cannot be asked", Owner.PLATFORM),
    "cuda_unusable": Reason("CUDA does not start, or shows no GPU", Owner.GPU),
    "closed_modules": Reason("proprietary kernel modules, which have no DMA-BUF", Owner.GPU),
    "dmabuf_gpu_unsupported": Reason("the GPU's driver has no DMA-BUF", Owner.GPU),
    "dmabuf_nic_unsupported": Reason("the HCA's driver, kernel or library takes no DMA-BUF", Owner.PLATFORM),
    "dmabuf_untold": Reason("one side did not tell whether it knows DMA-BUF", Owner.PLATFORM),
    "peermem_missing": Reason("no peer-memory module is loaded", Owner.GPU),
    "peermem_unregistered": Reason("the peer-memory module is loaded, but the RDMA core did not take it", Owner.GPU),
    "peermem_untold": Reason("it cannot be told whether the RDMA core has a peer-memory client", Owner.GPU),
    "gpudirect_unsupported": Reason("the GPU has no peer memory at all", Owner.GPU),
    "software_device": Reason("a software device has no GPUDirect", Owner.PLATFORM),
    "version_matrix": Reason("versions that do not go together for the planned way", Owner.GPU),
    "provider_missing": Reason("the image has no userspace driver for the device", Owner.PLATFORM),
    "libibverbs_missing": Reason("the image has no libibverbs", Owner.PLATFORM),
    "libibverbs_not_loaded": Reason("the image's libibverbs cannot be loaded by a test pod's runner", Owner.PLATFORM),
    "tool_hung": Reason("a side did not answer in time", Owner.PLATFORM),
    "tool_failed": Reason("a side gave no answer that can be read", Owner.PLATFORM),
    "unknown_setting": Reason("the plan names a mode that does not exist", Owner.PLATFORM),
}

HERE = Path(__file__)
CUDA_CHILD, NIC_CHILD = HERE.with_name("_cuda_attributes.py"), HERE.with_name("_register.py")
CUDA_SECONDS, NIC_SECONDS = 18.0, 10.0
PROOF = "proved only by a transfer from GPU memory"


@dataclass(frozen=True, slots=True)
class Asked:
    """What all was read and asked, with the outputs of the children."""

    facts: GpuFacts
    gpu: GpuSide
    gpu_evidence: tuple[Evidence, ...]
    nics: tuple[tuple[Expected, Sides | None, tuple[Evidence, ...]], ...]


@dataclass(frozen=True)
class Probe:
    """Settings as the module says."""

    hcas: HcaClass
    mode: str

    async def run(self, host: Host) -> Iterable[Finding]:
        """One finding for the GPUs, one for each planned HCA, and one for the versions where there is a GPU."""
        if self.mode not in PLANNED:
            sentence = f"mode {self.mode!r} in the plan found, one of {', '.join(PLANNED)} wanted"
            return [verdict(Subject(resource="gpu"), [unknown("unknown_setting", sentence)], "")]
        asked = await self._ask(host)
        findings = [_judge_gpus(asked, self.mode), *(self._judge_hca(*row) for row in asked.nics)]
        return [*findings, self._judge_versions(asked)] if asked.facts.vendor else findings

    async def _ask(self, host: Host) -> Asked:
        facts, rows = await host.read(self._read)
        cuda: Completed | None = None
        if facts.vendor == "nvidia" and facts.driver:
            cuda = await host.run(_command(CUDA_CHILD, limit_seconds=CUDA_SECONDS))
        gpu = read_gpu_side(cuda) if cuda else GpuSide()
        nics = await asyncio.gather(*(_ask_nic(host, row, facts, gpu) for row in rows))
        return Asked(facts, gpu, (_evidence("cuda", cuda),) if cuda else (), tuple(nics))

    def _read(self, tree: Tree) -> tuple[GpuFacts, tuple[Expected, ...]]:
        return read_gpu_facts(tree), match_hcas(self.hcas, read_devices(tree))

    def _judge_hca(self, row: Expected, sides: Sides | None, evidence: tuple[Evidence, ...]) -> Finding:
        subject = Subject(device=row.name)
        if sides is None:
            return verdict(subject, [Problem("device_missing", "no such RDMA device found, one wanted")], "")
        found = sides.ways.mode
        problems = list(mode_problems(sides, self.mode))
        if not sides.facts.vendor and self.mode != Mode.NONE:
            problems = [unknown("no_gpu_visible", "no GPU found, a way of GPUDirect wanted")]
        facts = {"mode": found.value, "nic_dmabuf": sides.nic.told, "peer_module": sides.facts.peer.module or "none"}
        passed = f"{sides.ways} found, {self.mode} wanted; {PROOF}"
        return verdict(subject, problems, passed, Shown(tuple(_hca_samples(found, sides.nic)), evidence, facts))

    def _judge_versions(self, asked: Asked) -> Finding:
        """Unmet rules of the ways that matter, and whether the live answers agree."""
        rows = hold(known_facts(asked.facts, asked.gpu))
        live = {way: _live(way, [sides for _, sides, _ in asked.nics if sides]) for way in (Mode.DMABUF, Mode.PEERMEM)}
        problems = [one for row in rows if (one := _version_problem(row, live, self.mode))]
        noted = [row for row in rows if row.met is False]
        passed = f"{len(rows)} rules, {len(noted)} of them not met and none that matters here"
        evidence = (Evidence("rules", "\n".join(map(str, rows))),)
        return verdict(Subject(resource="compatibility"), problems, passed, Shown((), evidence))


async def _ask_nic(
    host: Host, row: Expected, facts: GpuFacts, gpu: GpuSide
) -> tuple[Expected, Sides | None, tuple[Evidence, ...]]:
    if row.device is None:
        return row, None, ()
    completed = await host.run(_command(NIC_CHILD, row.device.name, "dmabuf", limit_seconds=NIC_SECONDS))
    sides = Sides(facts, gpu, read_nic_side(completed), row.device)
    return row, sides, (_evidence("dmabuf", completed),)


def _judge_gpus(asked: Asked, planned: str) -> Finding:
    subject, facts, gpu = Subject(resource="gpu"), asked.facts, asked.gpu
    told = known_facts(facts, gpu) | {"gpus": str(len(facts.gpus)), "data_direct": ", ".join(facts.data_direct)}
    lines = [f"{name}: {text or 'unknown'}" for name, text in told.items()]
    samples = tuple(
        Sample("gpu_dmabuf_supported", float(one.dma_buf), {"gpu": one.address})
        for one in gpu.devices
        if one.dma_buf is not None
    )
    flavour = f" with {facts.modules} kernel modules" if facts.modules else ""
    passed = f"{len(facts.gpus)} GPUs of {facts.vendor}, driver {facts.driver or 'of the kernel'}{flavour}"
    shown = Shown(samples, (Evidence("facts", "\n".join(lines)), *asked.gpu_evidence), told)
    return verdict(subject, list(_gpu_problems(asked, planned)), passed if facts.vendor else "no GPU found", shown)


def _gpu_problems(asked: Asked, planned: str) -> Iterator[Problem]:
    if planned == Mode.NONE:
        return
    if not asked.facts.vendor:
        yield unknown("no_gpu_visible", "none found, 1 wanted")
    elif asked.facts.vendor == "nvidia" and not asked.facts.driver:
        yield Problem("driver_missing", f"{len(asked.facts.gpus)} and no loaded driver found, one wanted")
    elif asked.gpu.problem and planned != Mode.PEERMEM:
        yield asked.gpu.problem


def _hca_samples(found: Mode, nic: NicSide) -> Iterator[Sample]:
    for mode in Mode:
        yield Sample("gpudirect_mode", float(mode is found), {"mode": mode.value})
    if nic.dma_buf is not None:
        yield Sample("hca_dmabuf_supported", float(nic.dma_buf))


def _live(way: Mode, sides: Sequence[Sides]) -> bool | None:
    """What the sides say of a way: yes where every HCA can, no where one cannot."""
    told = [one.ways.can(way) for one in sides]
    if False in told:
        return False
    return True if told and all(told) else None


def _version_problem(row: Judged, live: dict[Mode, bool | None], planned: str) -> Problem | None:
    if row.met is not False or planned not in (ANY, row.rule.way):
        return None
    taken = next((way for way, answer in live.items() if answer), None) if planned == ANY else row.rule.way
    answer = live[row.rule.way]
    if taken not in (None, row.rule.way) or (answer and not row.rule.binding):
        return None
    sentence = f"{row.rule.fact} {row.found} found, {row.rule.wanted} wanted for {row.rule.way} ({row.rule.source})"
    certain = answer is False or row.rule.binding
    return Problem("version_matrix", sentence) if certain else unknown("version_matrix", sentence)


def _command(child: Path, *arguments: str, limit_seconds: float) -> Command:
    return Command((sys.executable, "-I", "-S", str(child), *arguments), limit_seconds)


def _evidence(name: str, completed: Completed) -> Evidence:
    return Evidence(name, completed.stdout + completed.stderr, completed.argv, completed.exit_status)
