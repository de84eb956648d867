"""The child that asks AMD SMI, against a stand-in for its Python binding."""

from types import SimpleNamespace
from typing import Any

from probes.readers import gpu_amdsmi


class AmdSmiException(Exception):
    """The base of what the binding raises."""


def fake(**changed: Any) -> Any:
    """The functions of amdsmi that the child calls; an exception instead of an answer is raised."""
    answers = {
        "init": None,
        "shut_down": None,
        "get_processor_handles": ["handle"],
        "get_gpu_device_bdf": "0000:1a:00.0",
        "get_gpu_device_uuid": "b4ff74a0-0000-1000-8000-000000000001",
        "get_gpu_asic_info": {"market_name": "AMD Instinct MI300X"},
        "get_gpu_driver_info": {"driver_version": "6.12.12"},
        "get_pcie_info": {
            "pcie_static": {"max_pcie_width": 16, "max_pcie_speed": 32},
            "pcie_metric": {"pcie_width": 8, "pcie_speed": 16000},
        },
        "get_gpu_activity": {"gfx_activity": 12, "umc_activity": "N/A"},
        "get_gpu_vram_usage": {"vram_total": 196592, "vram_used": 283},
        "get_gpu_process_list": [{"pid": 7}, {"pid": 8}],
    } | changed

    def function(answer: Any) -> Any:
        def call(*_: Any) -> Any:
            if isinstance(answer, Exception):
                raise answer
            return answer

        return call

    functions = {f"amdsmi_{name}": function(answer) for name, answer in answers.items()}
    return SimpleNamespace(AmdSmiException=AmdSmiException, **functions)


ROW = {
    "index": 0,
    "pci_address": "0000:1a:00.0",
    "uuid": "b4ff74a0-0000-1000-8000-000000000001",
    "name": "AMD Instinct MI300X",
    "driver_version": "6.12.12",
    "pcie_lanes": 8,
    "pcie_lanes_max": 16,
    "pcie_generation": 4,
    "pcie_generation_max": 5,
    "utilisation_percent": 12,
    "memory_used_bytes": 283 << 20,
    "memory_bytes": 196592 << 20,
    "processes": 2,
}


def test_a_gpu_has_the_shape_of_the_other_makers() -> None:
    assert gpu_amdsmi.ask(fake()) == {"source": "amdsmi", "stage": "done", "gpus": [ROW], "lost": []}


def test_what_is_refused_or_not_available_is_null() -> None:
    no = AmdSmiException("not supported")
    smi = fake(
        get_pcie_info=no, get_gpu_activity={"gfx_activity": "N/A"}, get_gpu_process_list=no, get_gpu_vram_usage=no
    )
    nothing = (
        "pcie_lanes",
        "pcie_lanes_max",
        "pcie_generation",
        "pcie_generation_max",
        "utilisation_percent",
        "memory_used_bytes",
        "memory_bytes",
        "processes",
    )
    assert gpu_amdsmi.ask(smi)["gpus"] == [ROW | dict.fromkeys(nothing)]


def test_a_gpu_without_an_address_is_lost() -> None:
    answer = gpu_amdsmi.ask(fake(get_gpu_device_bdf=AmdSmiException("gone")))
    assert (answer["gpus"], answer["lost"]) == ([], ["GPU 0: gone found, an answer wanted"])


def test_without_its_driver_it_says_so() -> None:
    answer = {"source": "amdsmi", "stage": "driver", "gpus": [], "lost": [], "text": "no driver"}
    assert gpu_amdsmi.ask(fake(init=AmdSmiException("no driver"))) == answer
