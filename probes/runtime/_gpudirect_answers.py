"""What the two asking children said about DMA-BUF: the GPU's driver, and each HCA's."""

import errno
import json
from dataclasses import dataclass
from typing import Any

from probes._endpoint import Ended
from probes._host import Completed
from probes._problems import Problem, unknown
from probes.runtime._registration import not_the_images, stopped_early

NOT_SUPPORTED = frozenset({errno.EOPNOTSUPP, errno.EPROTONOSUPPORT, errno.ENOSYS, errno.ENOTTY})


@dataclass(frozen=True, slots=True)
class CudaDevice:
    """One GPU as CUDA numbers it; None is an attribute that the driver does not know.

    ``gpu_direct_rdma`` is about the older way, the one of peer memory.
    """

    address: str
    dma_buf: bool | None
    gpu_direct_rdma: bool | None
    integrated: bool | None
    compute_capability: str


@dataclass(frozen=True, slots=True)
class GpuSide:
    """What CUDA told: its API version such as 12.4, and its GPUs; or why it did not."""

    cuda: str = ""
    devices: tuple[CudaDevice, ...] = ()
    problem: Problem | None = None

    @property
    def dma_buf(self) -> bool | None:
        """Whether every GPU supports DMA-BUF."""
        return _all(tuple(one.dma_buf for one in self.devices))

    @property
    def gpu_direct_rdma(self) -> bool | None:
        """Whether every GPU supports peer memory."""
        return _all(tuple(one.gpu_direct_rdma for one in self.devices))


@dataclass(frozen=True, slots=True)
class NicSide:
    """Whether the HCA's driver takes DMA-BUFs (None: not told), with the errno's name, and what stood in the way."""

    dma_buf: bool | None
    told: str
    problem: Problem | None = None


def read_gpu_side(completed: Completed) -> GpuSide:
    """Read the answer of ``_cuda_attributes.py``."""
    answer = _answer(completed)
    if isinstance(answer, Problem):
        return GpuSide(problem=answer)
    stage, error = answer.get("stage"), answer.get("error")
    cuda = _cuda_version(answer.get("driver"))
    if stage == "library":
        return GpuSide(problem=unknown("libcuda_missing", "no libcuda.so.1 in this image found, the driver's wanted"))
    if stage != "done" or not answer.get("devices"):
        sentence = f"CUDA error {error} at {stage} and no GPU found, the GPUs' attributes wanted"
        return GpuSide(cuda, problem=unknown("cuda_unusable", sentence))
    return GpuSide(cuda, tuple(_device(row) for row in answer["devices"]))


def read_nic_side(completed: Completed) -> NicSide:
    """Read the answer of ``_register.py DEVICE dmabuf``."""
    answer = _answer(completed)
    if isinstance(answer, Problem):
        return NicSide(None, "no answer", answer)
    stage, number = answer.get("stage"), int(answer.get("errno") or 0)
    if stage in ("symbol", "register", "list") and (problem := not_the_images(answer)) is not None:
        return NicSide(None, "the runner's libibverbs", problem)
    if stage == "symbol":
        return NicSide(dma_buf=False, told="no ibv_reg_dmabuf_mr in libibverbs")
    if stage == "register":
        return _by_errno(number)
    return NicSide(None, f"stopped at {stage}", _stopped(str(stage), number, completed.stderr))


def _by_errno(number: int) -> NicSide:
    name = errno.errorcode.get(number, str(number))
    if number == errno.EBADF:
        return NicSide(dma_buf=True, told=name)
    if number in NOT_SUPPORTED:
        return NicSide(dma_buf=False, told=name)
    return NicSide(None, name, unknown("dmabuf_untold", f"{name} for an invalid DMA-BUF found, EBADF wanted"))


def _stopped(stage: str, number: int, stderr: str) -> Problem:
    sentence = f"an end at stage {stage} found, an answer about DMA-BUF wanted"
    return stopped_early(stage, number, stderr) or unknown("dmabuf_untold", sentence)


def _answer(completed: Completed) -> dict[str, Any] | Problem:
    if completed.ended is Ended.DEADLINE:
        return unknown("tool_hung", f"no answer within {completed.seconds:.0f} s found, one wanted")
    try:
        answer = json.loads(completed.stdout)
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        return unknown("tool_failed", f"exit status {completed.exit_status} and no answer found, one wanted")
    return answer


def _device(row: dict[str, Any]) -> CudaDevice:
    major, minor = row.get("major"), row.get("minor")
    return CudaDevice(
        address=str(row.get("pci", "")),
        dma_buf=_flag(row.get("dma_buf")),
        gpu_direct_rdma=_flag(row.get("gpu_direct_rdma")),
        integrated=_flag(row.get("integrated")),
        compute_capability=f"{major}.{minor}" if major else "",
    )


def _flag(value: object) -> bool | None:
    return None if value is None else bool(value)


def _all(flags: tuple[bool | None, ...]) -> bool | None:
    if False in flags:
        return False
    return None if None in flags or not flags else True


def _cuda_version(number: object) -> str:
    return f"{number // 1000}.{number % 1000 // 10}" if isinstance(number, int) and number > 0 else ""
