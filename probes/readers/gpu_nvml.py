"""Ask NVML about every GPU once, say it in one line of JSON, and let go of the driver again.

``python gpu_nvml.py``: runs as a child, so that a hang in the driver is the child's.
``stage`` is ``done``, or how far it got: ``import``, ``library``, ``driver``, ``denied``, ``mismatch``, ``failed``.
What a GPU does not support is null.
"""

import importlib
import json
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

STAGES = {
    "NVML_ERROR_LIBRARY_NOT_FOUND": "library",
    "NVML_ERROR_FUNCTION_NOT_FOUND": "library",
    "NVML_ERROR_DRIVER_NOT_LOADED": "driver",
    "NVML_ERROR_NO_PERMISSION": "denied",
    "NVML_ERROR_LIB_RM_VERSION_MISMATCH": "mismatch",
}


def ask(nvml: Any) -> dict[str, Any]:
    """Everything about all GPUs; ``nvml`` is the module pynvml. Nothing is raised for what NVML refuses."""
    try:
        nvml.nvmlInit()
    except nvml.NVMLError as error:
        return _answer(_stage(nvml, error), text=str(error))
    try:
        return _all(nvml)
    except nvml.NVMLError as error:
        return _answer(_stage(nvml, error), text=str(error))
    finally:
        with suppress(nvml.NVMLError):
            nvml.nvmlShutdown()


def _all(nvml: Any) -> dict[str, Any]:
    common = {
        "driver_version": _text(_or_none(nvml, nvml.nvmlSystemGetDriverVersion)),
        "cuda_version": _or_none(nvml, nvml.nvmlSystemGetCudaDriverVersion_v2),
    }
    gpus, lost = [], []
    for index in range(nvml.nvmlDeviceGetCount()):
        try:
            gpus.append(common | {"index": index} | _one(nvml, nvml.nvmlDeviceGetHandleByIndex(index)))
        except nvml.NVMLError as error:
            lost.append(f"GPU {index}: {error} found, an answer wanted")
    return _answer("done", gpus=gpus, lost=lost)


def _one(nvml: Any, handle: Any) -> dict[str, Any]:
    """Without a PCI address it is nobody's: that error is the caller's, all others are nulls."""
    memory = _or_none(nvml, nvml.nvmlDeviceGetMemoryInfo, handle)
    use = _or_none(nvml, nvml.nvmlDeviceGetUtilizationRates, handle)
    processes = _processes(nvml, handle)
    mig = _or_none(nvml, nvml.nvmlDeviceGetMigMode, handle)
    links = _link_states(nvml, handle)
    return {
        "pci_address": _text(nvml.nvmlDeviceGetPciInfo_v3(handle).busId),
        "uuid": _text(_or_none(nvml, nvml.nvmlDeviceGetUUID, handle)),
        "name": _text(_or_none(nvml, nvml.nvmlDeviceGetName, handle)),
        "pcie_lanes": _or_none(nvml, nvml.nvmlDeviceGetCurrPcieLinkWidth, handle),
        "pcie_lanes_max": _or_none(nvml, nvml.nvmlDeviceGetMaxPcieLinkWidth, handle),
        "pcie_generation": _or_none(nvml, nvml.nvmlDeviceGetCurrPcieLinkGeneration, handle),
        "pcie_generation_max": _or_none(nvml, nvml.nvmlDeviceGetMaxPcieLinkGeneration, handle),
        "nvlinks": len(links),
        "nvlinks_up": sum(links),
        "utilisation_percent": None if use is None else int(use.gpu),
        "memory_used_bytes": None if memory is None else int(memory.used),
        "memory_bytes": None if memory is None else int(memory.total),
        "processes": None if processes is None else len(processes),
        "mig": None if mig is None else bool(mig[0]),
    }


def _processes(nvml: Any, handle: Any) -> Any:
    """By the versioned calls: the plain one raises something of its own where the driver is older than the binding."""
    newest = _or_none(nvml, nvml.nvmlDeviceGetComputeRunningProcesses_v3, handle)
    return _or_none(nvml, nvml.nvmlDeviceGetComputeRunningProcesses_v2, handle) if newest is None else newest


def _link_states(nvml: Any, handle: Any) -> list[bool]:
    """Of the links that the GPU has: for others NVML answers with an error."""
    states = (_or_none(nvml, nvml.nvmlDeviceGetNvLinkState, handle, link) for link in range(nvml.NVML_NVLINK_MAX_LINKS))
    return [bool(state) for state in states if state is not None]


def _or_none(nvml: Any, function: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return function(*arguments)
    except nvml.NVMLError:
        return None


def _stage(nvml: Any, error: Any) -> str:
    return next((stage for name, stage in STAGES.items() if getattr(nvml, name, None) == error.value), "failed")


def _text(found: Any) -> str | None:
    return found.decode(errors="replace") if isinstance(found, bytes) else found


def _answer(stage: str, **more: Any) -> dict[str, Any]:
    return {"source": "nvml", "stage": stage, "gpus": [], "lost": [], **more}


def main() -> None:
    """Print the answer."""
    try:
        nvml = importlib.import_module("pynvml")
    except ImportError as error:
        answer = _answer("import", text=str(error))
    else:
        answer = ask(nvml)
    sys.stdout.write(json.dumps(answer) + "\n")


if __name__ == "__main__":
    main()
