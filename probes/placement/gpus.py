"""Every GPU on PCI Express is one that its driver knows and can reach.

Asks NVML (of AMD's GPUs AMD SMI) in a child process that ends at once or is killed, so that no GPU and no driver is
held; where NVML cannot be asked, ``/proc/driver/nvidia/gpus``. Lays that beside ``/sys/bus/pci/devices``.

Passes when each GPU on PCI Express is known to its driver, none was lost, and there are as many, with as many NVLinks
up, as planned.

Settings:
  gpus      how many there must be; 0 means any number, at least one
  nvlinks   how many NVLinks of each GPU must be up; 0 means that nobody looks

Cannot see: what GPUs compute, and whether they compute right. A GPU that fell off the bus so that PCI Express does not
show it either is only missed where ``gpus`` is planned. A container sees every GPU on PCI Express, and by the driver
those that it was given (UNKNOWN, ``gpu_not_given``). Without persistence mode each look wakes the GPUs. Where the
driver could not be asked although its files are there, a GPU passes by those files, and the summary says why.

Sources: the NVML API reference; the AMD SMI library's Python reference; the driver's README, "The /proc interface".
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from probes import Evidence, Finding, Kind, Metric, Owner, Reason, Sample, Subject
from probes._host import Host
from probes._problems import Problem, Shown, unknown, verdict
from probes.readers.container import read_inside
from probes.readers.gpu import FAILURES, Gpu, GpuReport, read_gpus
from probes.readers.pci import PciFunction

METRICS = {
    "gpu_info": Metric(Kind.GAUGE, "1, with what is known about a GPU as labels."),
    "gpu_nvlinks_up": Metric(Kind.GAUGE, "NVLinks of the GPU that are up; absent where the driver does not tell."),
    "gpu_processes": Metric(Kind.GAUGE, "Processes that compute on the GPU; absent where the driver does not tell."),
}

REASONS = {
    "no_gpu_visible": Reason("no GPU on PCI Express can be seen", Owner.GPU),
    "gpu_missing": Reason("fewer GPUs on PCI Express than planned", Owner.GPU),
    "gpu_lost": Reason("the driver counts a GPU that it cannot reach any more", Owner.GPU),
    "gpu_without_driver": Reason("a GPU on PCI Express is not among those that its driver knows", Owner.GPU),
    "gpu_not_given": Reason("the machine has a GPU that this container was not given", Owner.GPU),
    "gpu_duplicate": Reason("two GPUs have one UUID", Owner.GPU),
    "nvlinks_down": Reason("fewer NVLinks of a GPU are up than planned", Owner.GPU),
    "nvlinks_not_told": Reason("it cannot be told how many NVLinks are up", Owner.GPU),
    **{code: Reason(meaning, Owner.GPU) for code, meaning in FAILURES.items()},
}


@dataclass(frozen=True)
class Probe:
    """Settings as the module says."""

    gpus: int = 0
    nvlinks: int = 0

    async def run(self, host: Host) -> Iterable[Finding]:
        """One finding for each GPU on PCI Express, and one for those that are absent or lost."""
        report = await read_gpus(host)
        inside = await host.read(read_inside)
        findings = (self._judge(report, function, inside=inside) for function in report.functions)
        return [*self._absent(report), *findings]

    def _absent(self, report: GpuReport) -> Iterator[Finding]:
        found, all_of_them = len(report.functions), Subject(resource="gpu")
        problems = [Problem("gpu_lost", sentence) for sentence in report.lost]
        if found < self.gpus:
            problems.append(Problem("gpu_missing", f"{found} found, {self.gpus} wanted"))
        elif not found:
            problems.append(unknown("no_gpu_visible", "none found, 1 wanted"))
        if problems:
            yield verdict(all_of_them, problems, "")

    def _judge(self, report: GpuReport, function: PciFunction, *, inside: bool) -> Finding:
        subject, gpu = Subject(resource=function.address), report.at(function.address)
        if gpu is None:
            return verdict(subject, list(_unknown_to_driver(report, inside=inside)), "")
        facts = dict(_facts(gpu))
        why = "".join(f"; {failure.sentence}" for failure in report.failures)
        passed = f"{gpu.name or 'a GPU'} {gpu.uuid or 'without a UUID'} by {' and '.join(report.sources)}{why}"
        evidence = (Evidence("gpu", "\n".join(f"{name}: {text}" for name, text in facts.items())),)
        problems = [*_duplicates(report, gpu), *self._links(gpu)]
        return verdict(subject, problems, passed, Shown(tuple(_samples(gpu)), evidence, facts))

    def _links(self, gpu: Gpu) -> Iterator[Problem]:
        if not self.nvlinks:
            return
        if gpu.nvlinks_up is None:
            yield unknown("nvlinks_not_told", f"no number of NVLinks found, {self.nvlinks} up wanted")
        elif gpu.nvlinks_up < self.nvlinks:
            yield Problem("nvlinks_down", f"{gpu.nvlinks_up} of {gpu.nvlinks} NVLinks up found, {self.nvlinks} wanted")


def _unknown_to_driver(report: GpuReport, *, inside: bool) -> Iterator[Problem]:
    """A driver that told of others does not know this one, or may not show it; otherwise it could not be asked."""
    if report.failures and not report.gpus:
        for failure in report.failures:
            yield unknown(failure.code, failure.sentence)
    elif inside:
        yield unknown("gpu_not_given", "not given to this container found, a GPU that its driver shows wanted")
    else:
        yield Problem("gpu_without_driver", "no such GPU by its driver found, one wanted")


def _duplicates(report: GpuReport, gpu: Gpu) -> Iterator[Problem]:
    others = [other.pci_address for other in report.gpus if other is not gpu and gpu.uuid and other.uuid == gpu.uuid]
    if others:
        yield Problem("gpu_duplicate", f"the UUID of {', '.join(others)} found, one of its own wanted")


def _samples(gpu: Gpu) -> Iterator[Sample]:
    yield Sample("gpu_info", 1.0, _labels(gpu))
    if gpu.nvlinks_up is not None:
        yield Sample("gpu_nvlinks_up", float(gpu.nvlinks_up))
    if gpu.processes is not None:
        yield Sample("gpu_processes", float(gpu.processes))


def _labels(gpu: Gpu) -> Mapping[str, str]:
    return {
        "gpu_uuid": gpu.uuid,
        "pci_address": gpu.pci_address,
        "index": "" if gpu.index is None else str(gpu.index),
        "model": gpu.name,
        "driver_version": gpu.driver_version,
        "cuda_driver_version": gpu.cuda_driver_version,
        "mig": _word(gpu.mig),
    }


def _facts(gpu: Gpu) -> Iterator[tuple[str, str]]:
    yield from _labels(gpu).items()
    yield "numa_node", str(gpu.numa_node)
    yield "pcie", f"x{_text(gpu.pcie_lanes)} of x{_text(gpu.pcie_lanes_max)}, {_generations(gpu)}"
    yield "nvlinks", f"{_text(gpu.nvlinks_up)} of {_text(gpu.nvlinks)} up"
    yield "utilisation", "not told" if gpu.utilisation is None else f"{gpu.utilisation:.0%}"
    yield "memory_used_bytes", _text(gpu.memory_used_bytes)
    yield "processes", _text(gpu.processes)


def _generations(gpu: Gpu) -> str:
    return f"generation {_text(gpu.pcie_generation)} of {_text(gpu.pcie_generation_max)}"


def _text(number: int | None) -> str:
    return "not told" if number is None else str(number)


def _word(flag: bool | None) -> str:
    return "" if flag is None else str(flag).lower()
