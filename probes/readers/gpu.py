"""The GPUs of the machine as their driver tells of them, without holding a GPU or the driver.

NVML and AMD SMI can hang, and a process that has them open blocks a driver upgrade. Each is therefore asked by a child
that prints one line of JSON and ends, or is killed at its limit. Where NVML cannot be asked, ``/proc/driver/nvidia``
says which GPUs the driver has. Where a GPU really hangs on PCI Express comes from sysfs alone: NVML's NUMA node is that
of the memory of coherent GPUs.
"""

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from probes._endpoint import Ended
from probes._host import Command, Completed, Host, Tree
from probes.readers.gpu_proc import ProcGpu, read_proc_gpus
from probes.readers.pci import AMD, NVIDIA, PciFunction, read_pci

LIMIT_SECONDS = 15.0  # the first look at a GPU without persistence mode wakes it, which takes seconds

Programs = Mapping[int, tuple[str, ...]]

CHILDREN: Programs = {
    NVIDIA: (sys.executable, "-I", str(Path(__file__).with_name("gpu_nvml.py"))),
    AMD: (sys.executable, "-I", str(Path(__file__).with_name("gpu_amdsmi.py"))),
}


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU. Text is empty and a number None where the driver does not tell; ``numa_node`` is -1 when unknown.

    ``pci_address`` is in the kernel's form (``0000:1a:00.0``). ``cuda_driver_version`` is the newest CUDA that the
    driver knows (``13.0``). ``nvlinks`` counts those that the GPU has, ``nvlinks_up`` those that work. ``utilisation``
    is a ratio, over the driver's last sample. ``processes`` are those that compute. ``mig`` says whether it is divided.
    """

    pci_address: str
    uuid: str = ""
    index: int | None = None
    name: str = ""
    driver_version: str = ""
    cuda_driver_version: str = ""
    numa_node: int = -1
    pcie_lanes: int | None = None
    pcie_lanes_max: int | None = None
    pcie_generation: int | None = None
    pcie_generation_max: int | None = None
    nvlinks_up: int | None = None
    nvlinks: int | None = None
    utilisation: float | None = None
    memory_used_bytes: int | None = None
    memory_bytes: int | None = None
    processes: int | None = None
    mig: bool | None = None


@dataclass(frozen=True, slots=True)
class GpuFailure:
    """Why a driver could not be asked. ``code`` is one of FAILURES; ``sentence`` is "found, wanted"."""

    code: str
    sentence: str


@dataclass(frozen=True, slots=True)
class GpuReport:
    """``functions`` are the GPUs on PCI Express, ``gpus`` those that a driver tells of, both by address.

    ``sources`` says who told (``nvml``, ``amdsmi``, ``proc``). ``lost`` has a sentence for each GPU that the driver
    counts and cannot reach any more.
    """

    functions: tuple[PciFunction, ...]
    gpus: tuple[Gpu, ...] = ()
    sources: tuple[str, ...] = ()
    failures: tuple[GpuFailure, ...] = ()
    lost: tuple[str, ...] = ()

    def at(self, address: str) -> Gpu | None:
        """The GPU at a PCI address, as its driver tells of it."""
        return next((gpu for gpu in self.gpus if gpu.pci_address == address), None)


FAILURES: Mapping[str, str] = {
    "gpu_library_missing": "the Python binding of NVML or AMD SMI is not installed",
    "gpu_driver_library_missing": "the driver's library (libnvidia-ml.so.1) is not here",
    "gpu_driver_not_loaded": "the GPU driver is not loaded, or its devices are not in this container",
    "gpu_driver_denied": "this process may not ask the GPU driver",
    "gpu_driver_mismatch": "the driver's library and its kernel module are of different versions",
    "gpu_driver_hung": "the GPU driver did not answer within the limit",
    "gpu_driver_failed": "the GPU driver answered with an error, or not in a way that can be read",
}
# by the word that the child prints where it got no further
STAGES = {
    "import": ("gpu_library_missing", "no Python binding found, one wanted"),
    "library": ("gpu_driver_library_missing", "no driver library found, one wanted"),
    "driver": ("gpu_driver_not_loaded", "a driver that is not loaded found, a loaded one wanted"),
    "denied": ("gpu_driver_denied", "no permission found, permission wanted"),
    "mismatch": ("gpu_driver_mismatch", "library and kernel module of different versions found, the same wanted"),
}


async def read_gpus(host: Host, programs: Programs = CHILDREN, limit_seconds: float = LIMIT_SECONDS) -> GpuReport:
    """Ask the driver of each maker whose GPUs are on PCI Express; on a machine without GPUs nothing is started."""
    functions, from_proc = await host.read(_read)
    report = GpuReport(functions)
    for vendor in sorted({function.vendor for function in functions} & programs.keys()):
        report = _added(report, await host.run(Command(programs[vendor], limit_seconds)))
    return _placed(_with_proc(report, from_proc))


def _read(tree: Tree) -> tuple[tuple[PciFunction, ...], tuple[ProcGpu, ...]]:
    return tuple(function for function in read_pci(tree) if function.is_gpu), read_proc_gpus(tree)


def _added(report: GpuReport, completed: Completed) -> GpuReport:
    if completed.ended is Ended.DEADLINE:
        sentence = f"no answer of the driver within {completed.seconds:.0f} s found, one wanted"
        return _failed(report, "gpu_driver_hung", sentence)
    try:
        answer = _answer_of(completed.stdout)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        said = (completed.stderr.strip() or completed.stdout.strip() or "nothing").splitlines()[-1][:200]
        sentence = f"exit status {completed.exit_status} and {said} found, GPUs wanted"
        return _failed(report, "gpu_driver_failed", sentence)
    if answer.stage != "done":
        code, sentence = STAGES.get(answer.stage, ("gpu_driver_failed", f"{answer.text} found, GPUs wanted"))
        return _failed(report, code, sentence)
    # a recorded machine is not the one that the child asked
    here = {function.address for function in report.functions}
    known = {gpu.pci_address: gpu for gpu in answer.gpus if gpu.pci_address in here}
    if answer.gpus and not known:
        return _failed(report, "gpu_driver_failed", "GPUs of another machine found, those on PCI Express here wanted")
    gpus, sources = (*report.gpus, *known.values()), (*report.sources, answer.source)
    return replace(report, gpus=gpus, sources=sources, lost=(*report.lost, *answer.lost))


@dataclass(frozen=True, slots=True)
class _Answer:
    source: str
    stage: str
    text: str
    gpus: tuple[Gpu, ...]
    lost: tuple[str, ...]


def _answer_of(line: str) -> _Answer:
    told = json.loads(line)
    lost = tuple(str(one) for one in told["lost"])
    return _Answer(str(told["source"]), str(told["stage"]), str(told.get("text", "")), tuple(_gpus(told["gpus"])), lost)


def _failed(report: GpuReport, code: str, sentence: str) -> GpuReport:
    return replace(report, failures=(*report.failures, GpuFailure(code, sentence)))


def _with_proc(report: GpuReport, from_proc: Iterable[ProcGpu]) -> GpuReport:
    if "nvml" in report.sources:
        return report
    gpus = tuple(
        Gpu(one.pci_address, uuid=one.uuid, name=one.name, driver_version=one.driver_version) for one in from_proc
    )
    return replace(report, gpus=(*report.gpus, *gpus), sources=(*report.sources, "proc")) if gpus else report


def _placed(report: GpuReport) -> GpuReport:
    numa_nodes = {function.address: function.numa_node for function in report.functions}
    gpus = sorted(report.gpus, key=lambda gpu: gpu.pci_address)
    return replace(report, gpus=tuple(replace(gpu, numa_node=numa_nodes.get(gpu.pci_address, -1)) for gpu in gpus))


def _gpus(rows: Iterable[Mapping[str, Any]]) -> Iterator[Gpu]:
    for row in rows:
        percent = _number(row.get("utilisation_percent"))
        numbers: dict[str, Any] = {name: _number(row.get(name)) for name in NUMBERS}
        yield Gpu(
            pci_address=kernel_address(str(row["pci_address"])),
            uuid=str(row.get("uuid") or ""),
            name=str(row.get("name") or ""),
            driver_version=str(row.get("driver_version") or ""),
            cuda_driver_version=_cuda_version(_number(row.get("cuda_version"))),
            utilisation=percent / 100 if percent is not None else None,
            mig=bool(row["mig"]) if row.get("mig") is not None else None,
            **numbers,
        )


NUMBERS = (
    "index",
    "pcie_lanes",
    "pcie_lanes_max",
    "pcie_generation",
    "pcie_generation_max",
    "nvlinks_up",
    "nvlinks",
    "memory_used_bytes",
    "memory_bytes",
    "processes",
)


def kernel_address(bus_id: str) -> str:
    """``00000000:1A:00.0`` of NVML is ``0000:1a:00.0`` to the kernel. ValueError for what is no PCI address."""
    domain, bus, function = bus_id.lower().split(":")
    return f"{int(domain, 16):04x}:{bus}:{function}"


def _number(found: object) -> int | None:
    return found if isinstance(found, int) and not isinstance(found, bool) else None


def _cuda_version(number: int | None) -> str:
    """NVML's 13000 is 13.0, its 12040 is 12.4."""
    return f"{number // 1000}.{number % 1000 // 10}" if number else ""
