"""Ask AMD SMI about every GPU once, say it in one line of JSON as ``gpu_nvml.py`` does, and let go of the driver.

``python gpu_amdsmi.py``: runs as a child. Written after AMD's documentation of the Python binding, not yet seen on a
machine of theirs. XGMI links are not read.
"""

import importlib
import json
import sys
from collections.abc import Callable
from typing import Any

GENERATIONS = {2.5: 1, 5.0: 2, 8.0: 3, 16.0: 4, 32.0: 5, 64.0: 6}
MEBIBYTE = 1 << 20


def ask(smi: Any) -> dict[str, Any]:
    """Everything about all GPUs; ``smi`` is the module amdsmi. Nothing is raised for what it refuses."""
    try:
        smi.amdsmi_init()
    except smi.AmdSmiException as error:
        return _answer("driver", text=str(error))
    try:
        return _all(smi)
    except smi.AmdSmiException as error:
        return _answer("failed", text=str(error))
    finally:
        smi.amdsmi_shut_down()


def _all(smi: Any) -> dict[str, Any]:
    gpus, lost = [], []
    for index, handle in enumerate(smi.amdsmi_get_processor_handles()):
        try:
            gpus.append({"index": index} | _one(smi, handle))
        except smi.AmdSmiException as error:
            lost.append(f"GPU {index}: {error} found, an answer wanted")
    return _answer("done", gpus=gpus, lost=lost)


def _one(smi: Any, handle: Any) -> dict[str, Any]:
    link = _or_nothing(smi, smi.amdsmi_get_pcie_info, handle)
    can, now = link.get("pcie_static", {}), link.get("pcie_metric", {})
    memory = _or_nothing(smi, smi.amdsmi_get_gpu_vram_usage, handle)
    processes = _or_nothing(smi, smi.amdsmi_get_gpu_process_list, handle, nothing=None)
    return {
        "pci_address": smi.amdsmi_get_gpu_device_bdf(handle),
        "uuid": _or_nothing(smi, smi.amdsmi_get_gpu_device_uuid, handle, nothing=None),
        "name": _or_nothing(smi, smi.amdsmi_get_gpu_asic_info, handle).get("market_name"),
        "driver_version": _or_nothing(smi, smi.amdsmi_get_gpu_driver_info, handle).get("driver_version"),
        "pcie_lanes": _whole(now.get("pcie_width")),
        "pcie_lanes_max": _whole(can.get("max_pcie_width")),
        "pcie_generation": _generation(now.get("pcie_speed")),
        "pcie_generation_max": _generation(can.get("max_pcie_speed")),
        "utilisation_percent": _whole(_or_nothing(smi, smi.amdsmi_get_gpu_activity, handle).get("gfx_activity")),
        "memory_used_bytes": _bytes(memory.get("vram_used")),
        "memory_bytes": _bytes(memory.get("vram_total")),
        "processes": None if processes is None else len(processes),
    }


def _or_nothing(smi: Any, function: Callable[..., Any], handle: Any, nothing: Any = {}) -> Any:  # noqa: B006 read only
    try:
        return function(handle)
    except smi.AmdSmiException:
        return nothing


def _whole(found: Any) -> int | None:
    """AMD SMI says "N/A" where it has no number."""
    return int(found) if isinstance(found, int | float) and not isinstance(found, bool) else None


def _bytes(mebibytes: Any) -> int | None:
    whole = _whole(mebibytes)
    return None if whole is None else whole * MEBIBYTE


def _generation(speed: Any) -> int | None:
    """From GT/s, or from MT/s as the metric part has it."""
    if not isinstance(speed, int | float):
        return None
    return GENERATIONS.get(speed / 1000 if speed >= 1000 else float(speed))


def _answer(stage: str, **more: Any) -> dict[str, Any]:
    return {"source": "amdsmi", "stage": stage, "gpus": [], "lost": [], **more}


def main() -> None:
    """Print the answer. The binding loads the driver's library while it is imported, and raises what it likes."""
    try:
        smi = importlib.import_module("amdsmi")
    except ImportError as error:
        answer = _answer("import", text=str(error))
    except (OSError, KeyError, AttributeError) as error:
        answer = _answer("library", text=str(error))
    else:
        answer = ask(smi)
    sys.stdout.write(json.dumps(answer) + "\n")


if __name__ == "__main__":
    main()
