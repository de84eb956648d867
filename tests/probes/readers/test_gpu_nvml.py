# ruff: noqa: N802, N815 the names are those of NVML
"""The child that asks NVML, against a stand-in for NVML."""

import json
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from probes.readers import gpu_nvml


class NVMLError(Exception):
    """As pynvml has it: the number is ``value``."""

    def __init__(self, value: int) -> None:
        super().__init__(f"error {value}")
        self.value = value


@dataclass
class Device:
    """What NVML says of one GPU; a number below zero is an error of that number."""

    bus_id: Any = b"00000000:1A:00.0"
    uuid: Any = "GPU-11111111-2222-3333-4444-555555555501"
    links: tuple[int, ...] = (1, 1, 0)
    mig: Any = (0, 0)
    processes: Any = (SimpleNamespace(pid=7),)
    processes_by_old_driver: Any = -13
    memory: Any = field(default_factory=lambda: SimpleNamespace(total=150_754_820_096, used=644_939_776))


@dataclass
class FakeNvml:
    """The functions of pynvml that the child calls. ``lost`` are the indices of GPUs without an answer."""

    devices: tuple[Device, ...] = (Device(),)
    refuses: int = 0
    lost: tuple[int, ...] = ()
    calls: list[str] = field(default_factory=list)

    NVMLError = NVMLError
    NVML_NVLINK_MAX_LINKS = 18
    NVML_ERROR_NO_PERMISSION, NVML_ERROR_DRIVER_NOT_LOADED = 4, 9
    NVML_ERROR_LIBRARY_NOT_FOUND, NVML_ERROR_FUNCTION_NOT_FOUND, NVML_ERROR_LIB_RM_VERSION_MISMATCH = 12, 13, 18

    def nvmlInit(self) -> None:
        self.calls.append("init")
        if self.refuses:
            raise NVMLError(self.refuses)

    def nvmlShutdown(self) -> None:
        self.calls.append("shutdown")

    def nvmlSystemGetDriverVersion(self) -> bytes:
        return b"580.159.04"

    def nvmlSystemGetCudaDriverVersion_v2(self) -> int:
        return 13000

    def nvmlDeviceGetCount(self) -> int:
        return len(self.devices)

    def nvmlDeviceGetHandleByIndex(self, index: int) -> Device:
        if index in self.lost:
            raise NVMLError(15)
        return self.devices[index]

    def nvmlDeviceGetPciInfo_v3(self, device: Device) -> Any:
        return SimpleNamespace(busId=given(device.bus_id))

    def nvmlDeviceGetUUID(self, device: Device) -> Any:
        return given(device.uuid)

    def nvmlDeviceGetName(self, device: Device) -> str:
        return "NVIDIA H200"

    def nvmlDeviceGetMemoryInfo(self, device: Device) -> Any:
        return given(device.memory)

    def nvmlDeviceGetUtilizationRates(self, device: Device) -> Any:
        return SimpleNamespace(gpu=37, memory=2)

    def nvmlDeviceGetComputeRunningProcesses_v3(self, device: Device) -> Any:
        return given(device.processes)

    def nvmlDeviceGetComputeRunningProcesses_v2(self, device: Device) -> Any:
        return given(device.processes_by_old_driver)

    def nvmlDeviceGetMigMode(self, device: Device) -> Any:
        return given(device.mig)

    def nvmlDeviceGetCurrPcieLinkWidth(self, device: Device) -> int:
        return 16

    nvmlDeviceGetMaxPcieLinkWidth = nvmlDeviceGetCurrPcieLinkWidth

    def nvmlDeviceGetCurrPcieLinkGeneration(self, device: Device) -> int:
        return 5

    nvmlDeviceGetMaxPcieLinkGeneration = nvmlDeviceGetCurrPcieLinkGeneration

    def nvmlDeviceGetNvLinkState(self, device: Device, link: int) -> int:
        if link >= len(device.links):
            raise NVMLError(2)
        return device.links[link]


def given(found: Any) -> Any:
    if isinstance(found, int) and found < 0:
        raise NVMLError(-found)
    return found


ROW = {
    "index": 0,
    "pci_address": "00000000:1A:00.0",
    "uuid": "GPU-11111111-2222-3333-4444-555555555501",
    "name": "NVIDIA H200",
    "driver_version": "580.159.04",
    "cuda_version": 13000,
    "pcie_lanes": 16,
    "pcie_lanes_max": 16,
    "pcie_generation": 5,
    "pcie_generation_max": 5,
    "nvlinks": 3,
    "nvlinks_up": 2,
    "utilisation_percent": 37,
    "memory_used_bytes": 644_939_776,
    "memory_bytes": 150_754_820_096,
    "processes": 1,
    "mig": False,
}


def test_everything_about_a_gpu_is_asked_and_the_driver_let_go() -> None:
    nvml = FakeNvml()
    assert gpu_nvml.ask(nvml) == {"source": "nvml", "stage": "done", "gpus": [ROW], "lost": []}
    assert nvml.calls == ["init", "shutdown"]


def test_what_a_gpu_does_not_support_is_null() -> None:
    (row,) = gpu_nvml.ask(FakeNvml((Device(uuid=-3, links=(), mig=-3, processes=-4, memory=-3),)))["gpus"]
    nothing = dict.fromkeys(("uuid", "mig", "processes", "memory_used_bytes", "memory_bytes"))
    assert row == ROW | nothing | {"nvlinks": 0, "nvlinks_up": 0}


def test_an_old_driver_is_asked_for_its_processes_in_the_old_way() -> None:
    old = Device(processes=-13, processes_by_old_driver=(SimpleNamespace(pid=7), SimpleNamespace(pid=8)))
    assert gpu_nvml.ask(FakeNvml((old,)))["gpus"][0]["processes"] == 2


def test_a_lost_gpu_is_told_and_the_others_are_asked() -> None:
    nvml = FakeNvml(tuple(Device() for _ in range(9)), lost=(3,))
    answer = gpu_nvml.ask(nvml)
    assert [row["index"] for row in answer["gpus"]] == [0, 1, 2, 4, 5, 6, 7, 8]
    assert answer["lost"] == ["GPU 3: error 15 found, an answer wanted"]


def test_a_gpu_without_an_address_is_lost() -> None:
    answer = gpu_nvml.ask(FakeNvml((Device(bus_id=-16),)))
    assert (answer["gpus"], answer["lost"]) == ([], ["GPU 0: error 16 found, an answer wanted"])


@pytest.mark.parametrize(
    ("number", "stage"),
    [(4, "denied"), (9, "driver"), (12, "library"), (13, "library"), (18, "mismatch"), (999, "failed")],
)
def test_what_nvml_refuses_says_how_far_it_got(number: int, stage: str) -> None:
    answer = {"source": "nvml", "stage": stage, "gpus": [], "lost": [], "text": f"error {number}"}
    assert gpu_nvml.ask(FakeNvml(refuses=number)) == answer


def test_the_child_prints_one_line_whatever_is_installed_here() -> None:
    argv = [sys.executable, "-I", gpu_nvml.__file__]
    said = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=120)
    assert said.stdout.count("\n") == 1
    assert json.loads(said.stdout)["source"] == "nvml"


def test_without_the_binding_the_child_says_so(tmp_path: Path) -> None:
    (tmp_path / "pynvml.py").write_text("raise ImportError('none here')\n")
    environment = {"PYTHONPATH": str(tmp_path)}
    argv = [sys.executable, gpu_nvml.__file__]
    said = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=120, env=environment)
    assert json.loads(said.stdout) == {"source": "nvml", "stage": "import", "gpus": [], "lost": [], "text": "none here"}
