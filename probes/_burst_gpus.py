"""Which GPUs a burst takes: the node's first ones, and only while nobody else uses any of them."""

from probes import ProbeError
from probes._endpoint import Refused
from probes.readers.gpu import Gpu, GpuReport
from probes.readers.pci import AMD

BUSY_SHARE = 0.05
# A container sees no process of another one; what the driver keeps for itself is far less than this.
USED_SHARE = 0.1


def free_gpus(node: str, report: GpuReport, wanted: int) -> tuple[Gpu, ...]:
    """Return the first ``wanted`` whole GPUs. Raises ProbeError gpu_missing; Refused gpu_busy, or when unknown."""
    usable = [gpu for gpu in report.gpus if gpu.uuid and not gpu.mig]
    if len(usable) < wanted:
        why = "; ".join(failure.sentence for failure in report.failures)
        found = f"{len(usable)} whole GPUs found" + (f" ({why})" if why else "")
        raise ProbeError("gpu_missing", f"{node}: {found}, {wanted} wanted")
    for gpu in usable[:wanted]:
        if use := _use(gpu):
            raise Refused("gpu_busy", f"{node}: {gpu.uuid} at {gpu.pci_address}: {use} found, an idle GPU wanted")
    return tuple(usable[:wanted])


def visible(report: GpuReport, gpus: tuple[Gpu, ...]) -> dict[str, str]:
    """Return the variable by which a process sees these GPUs alone, in this order."""
    by_address = {function.address: function.vendor for function in report.functions}
    if by_address.get(gpus[0].pci_address) == AMD:
        return {"ROCR_VISIBLE_DEVICES": ",".join(str(gpu.index) for gpu in gpus)}
    return {"CUDA_VISIBLE_DEVICES": ",".join(gpu.uuid for gpu in gpus)}


def _use(gpu: Gpu) -> str:
    if gpu.processes is None and gpu.utilisation is None:
        return "unknown use"
    if gpu.processes:
        return f"{gpu.processes} processes"
    if (gpu.utilisation or 0) > BUSY_SHARE:
        return f"{gpu.utilisation:.0%} utilisation"
    if gpu.memory_bytes and (used := (gpu.memory_used_bytes or 0) / gpu.memory_bytes) > USED_SHARE:
        return f"{used:.0%} of its memory in use"
    return ""
