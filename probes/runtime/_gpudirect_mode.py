"""Which way of GPUDirect can be in effect between the GPUs and one HCA, from what both sides told.

Both sides must be able: only a transfer from GPU memory proves that they do.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from probes import Status
from probes._problems import Problem, unknown
from probes.readers.gpudirect import GpuFacts
from probes.readers.sysfs import SOFTWARE_DRIVERS, Device
from probes.runtime._gpudirect_answers import GpuSide, NicSide


class Mode(StrEnum):
    """What the metric's label says; NONE is that every byte goes through host memory."""

    DMABUF = "dmabuf"
    PEERMEM = "peermem"
    NONE = "none"
    UNKNOWN = "unknown"


ANY = "any"
PLANNED = (ANY, Mode.DMABUF, Mode.PEERMEM, Mode.NONE)


@dataclass(frozen=True, slots=True)
class Ways:
    """Whether each way can be in effect; None is that it cannot be told."""

    dmabuf: bool | None
    peermem: bool | None

    def __str__(self) -> str:
        words = {True: "possible", False: "not possible", None: "unknown"}
        return f"DMA-BUF {words[self.dmabuf]}, peer memory {words[self.peermem]}"

    @property
    def mode(self) -> Mode:
        """The way that libraries take first where it is there: DMA-BUF, then peer memory."""
        if self.dmabuf:
            return Mode.DMABUF
        if self.dmabuf is None:
            return Mode.UNKNOWN
        return {True: Mode.PEERMEM, False: Mode.NONE, None: Mode.UNKNOWN}[self.peermem]

    def can(self, planned: str) -> bool | None:
        """Whether what the plan names can be in effect."""
        if planned == ANY:
            return _either(self.dmabuf, self.peermem)
        return {Mode.DMABUF: self.dmabuf, Mode.PEERMEM: self.peermem}.get(Mode(planned), True)


@dataclass(frozen=True, slots=True)
class Sides:
    """All that is known about one HCA and the GPUs."""

    facts: GpuFacts
    gpu: GpuSide
    nic: NicSide
    device: Device

    @property
    def software(self) -> bool:
        """A software device copies with the CPU, whatever memory it is given."""
        return self.device.driver in SOFTWARE_DRIVERS.values()

    @property
    def ways(self) -> Ways:
        """Both ways, by what the two sides said."""
        if self.software or not self.facts.vendor:
            return Ways(dmabuf=False, peermem=False)
        gpu_dmabuf = self.facts.amd_dmabuf if self.facts.vendor == "amd" else self.gpu.dma_buf
        # a driver that does not know the attribute is older than the question
        peermem = False if self.gpu.gpu_direct_rdma is False else self.facts.peer.registered
        return Ways(_both(gpu_dmabuf, self.nic.dma_buf), peermem)


def mode_problems(sides: Sides, planned: str) -> Iterator[Problem]:
    """Why what the plan names cannot be in effect, or cannot be told; nothing where it can."""
    answer = sides.ways.can(planned)
    if answer:
        return
    wanted = f"{'a' if planned == ANY else planned} way of GPUDirect wanted"
    if sides.software:
        yield Problem("software_device", f"software device {sides.device.driver} found, {wanted}")
        return
    found = [
        *(_dmabuf_problems(sides, wanted) if planned != Mode.PEERMEM else ()),
        *(_peermem_problems(sides, wanted) if planned != Mode.DMABUF else ()),
    ]
    # that one way is closed is no failure while the other is not known
    yield from (one for one in found if answer is False or one.status is Status.UNKNOWN or one is sides.nic.problem)


def _dmabuf_problems(sides: Sides, wanted: str) -> Iterator[Problem]:
    facts, gpu, nic = sides.facts, sides.gpu, sides.nic
    if facts.vendor == "amd":
        if facts.amd_dmabuf is False:
            yield Problem("dmabuf_gpu_unsupported", f"a kernel built without DMA-BUF for amdgpu found, {wanted}")
        elif facts.amd_dmabuf is None:
            yield unknown("dmabuf_untold", f"no readable configuration of kernel {facts.kernel} found, {wanted}")
    elif gpu.dma_buf is False:
        lacking = ", ".join(one.address for one in gpu.devices if not one.dma_buf)
        reason = "closed_modules" if facts.modules == "closed" else "dmabuf_gpu_unsupported"
        kind = f" under {facts.modules} kernel modules" if facts.modules else ""
        yield Problem(reason, f"no DMA-BUF on GPU {lacking}{kind} found, {wanted}")
    elif gpu.problem:
        yield gpu.problem
    elif gpu.dma_buf is None:
        yield unknown("dmabuf_untold", f"a CUDA driver that does not know of DMA-BUF found, {wanted}")
    if nic.dma_buf is False:
        yield Problem("dmabuf_nic_unsupported", f"{nic.told} for an invalid DMA-BUF found, EBADF wanted")
    elif nic.problem:
        yield nic.problem


def _peermem_problems(sides: Sides, wanted: str) -> Iterator[Problem]:
    peer = sides.facts.peer
    if sides.gpu.gpu_direct_rdma is False:
        yield Problem("gpudirect_unsupported", f"GPUs without peer memory found, {wanted}")
    elif peer.registered is None:
        found = f"{peer.module} loaded, unknown whether the RDMA core took it" if peer.module else "no sign of it"
        yield unknown("peermem_untold", f"peer memory: {found} found, {wanted}")
    elif peer.module and not peer.registered:
        yield Problem("peermem_unregistered", f"{peer.module} loaded and not registered found, {wanted}")
    elif not peer.registered:
        yield Problem("peermem_missing", f"no peer-memory module found, {wanted}")


def _both(one: bool | None, other: bool | None) -> bool | None:
    if one is False or other is False:
        return False
    return True if one and other else None


def _either(one: bool | None, other: bool | None) -> bool | None:
    if one or other:
        return True
    return False if one is False and other is False else None
