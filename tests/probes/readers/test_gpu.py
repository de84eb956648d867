"""GPUs as their drivers tell of them, by children that may hang, lie or be refused."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from probes._host import Host
from probes.readers.gpu import FAILURES, STAGES, Gpu, GpuFailure, GpuReport, kernel_address, read_gpus
from probes.readers.pci import AMD, NVIDIA

ANSWER = {"source": "nvml", "stage": "done", "gpus": [], "lost": []}
ROW = {
    "index": 0,
    "pci_address": "00000000:00:06.0",
    "uuid": "GPU-11111111-2222-3333-4444-555555555501",
    "name": "NVIDIA H200",
    "driver_version": "580.159.04",
    "cuda_version": 13000,
    "pcie_lanes": 16,
    "pcie_lanes_max": 16,
    "pcie_generation": 5,
    "pcie_generation_max": 5,
    "nvlinks": 18,
    "nvlinks_up": 17,
    "utilisation_percent": 50,
    "memory_used_bytes": 644_939_776,
    "memory_bytes": 150_754_820_096,
    "processes": 0,
    "mig": False,
}
H200 = Gpu(
    pci_address="0000:00:06.0",
    uuid="GPU-11111111-2222-3333-4444-555555555501",
    index=0,
    name="NVIDIA H200",
    driver_version="580.159.04",
    cuda_driver_version="13.0",
    pcie_lanes=16,
    pcie_lanes_max=16,
    pcie_generation=5,
    pcie_generation_max=5,
    nvlinks_up=17,
    nvlinks=18,
    utilisation=0.5,
    memory_used_bytes=644_939_776,
    memory_bytes=150_754_820_096,
    processes=0,
    mig=False,
)


def program(text: str) -> dict[int, tuple[str, ...]]:
    """A child that runs this instead of asking NVML."""
    return {NVIDIA: (sys.executable, "-I", "-S", "-c", text)}


def answering(**more: Any) -> dict[int, tuple[str, ...]]:
    return program(f"print({json.dumps(ANSWER | more)!r})")


async def read(root: Path, programs: dict[int, tuple[str, ...]], limit_seconds: float = 120.0) -> GpuReport:
    host = Host(root)
    try:
        return await read_gpus(host, programs, limit_seconds)
    finally:
        host.close()


@pytest.fixture
def bare(recorded: Callable[..., Path]) -> Path:
    """The guest of two H200 without /proc/driver/nvidia."""
    return recorded("flat", {"/proc/driver": None})


async def test_a_gpu_that_nvml_tells_of_is_read(recorded: Callable[..., Path]) -> None:
    second = ROW | {
        "index": 1,
        "pci_address": "00000000:00:07.0",
        "mig": None,
        "processes": None,
        "utilisation_percent": None,
    }
    report = await read(recorded("flat"), answering(gpus=[second, ROW], lost=["GPU 2: gone"]))
    assert ([gpu.pci_address for gpu in report.gpus], report.at("0000:00:06.0")) == (
        ["0000:00:06.0", "0000:00:07.0"],
        H200,
    )
    assert (report.gpus[1].mig, report.gpus[1].processes, report.gpus[1].utilisation) == (None, None, None)
    assert (report.sources, report.failures, report.lost) == (("nvml",), (), ("GPU 2: gone",))


async def test_the_numa_node_is_that_of_pci_express(recorded: Callable[..., Path]) -> None:
    report = await read(recorded("h100x8"), answering(gpus=[ROW | {"pci_address": "00000000:B3:00.0"}]))
    assert [(gpu.pci_address, gpu.numa_node) for gpu in report.gpus] == [("0000:b3:00.0", 1)]


async def test_a_row_that_comes_twice_is_one_gpu(bare: Path) -> None:
    assert len((await read(bare, answering(gpus=[ROW, ROW]))).gpus) == 1


async def test_without_nvml_the_drivers_files_tell(recorded: Callable[..., Path]) -> None:
    unread = {
        "/proc/driver/nvidia/gpus/0000:00:07.0/information": "Model: \t NVIDIA H200\nGPU UUID: \t GPU-????????-????"
    }
    report = await read(recorded("flat", unread), answering(stage="import"))
    assert report.gpus == (
        Gpu("0000:00:06.0", H200.uuid, name="NVIDIA H200", driver_version="580.159.04"),
        Gpu("0000:00:07.0", "", name="NVIDIA H200", driver_version="580.159.04"),
    )
    assert report.sources == ("proc",)
    assert report.failures == (GpuFailure("gpu_library_missing", "no Python binding found, one wanted"),)


@pytest.mark.parametrize("stage", STAGES)
async def test_what_keeps_nvml_from_answering_is_told_apart(stage: str, bare: Path) -> None:
    report = await read(bare, answering(stage=stage, text="said"))
    assert (report.gpus, report.failures) == ((), (GpuFailure(*STAGES[stage]),))
    assert report.failures[0].code in FAILURES


async def test_another_error_is_told_in_its_own_words(bare: Path) -> None:
    report = await read(bare, answering(stage="failed", text="Unknown Error"))
    assert report.failures == (GpuFailure("gpu_driver_failed", "Unknown Error found, GPUs wanted"),)


async def test_a_child_that_hangs_is_killed_at_its_limit(bare: Path, tmp_path: Path) -> None:
    mark = tmp_path / "alive"
    forks = (
        "import os, signal, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        f"open({str(mark)!r}, 'w').write(str(os.getpid()))\n"
        "time.sleep(3600)"
    )
    report = await read(bare, program(forks), limit_seconds=1.0)
    assert [failure.code for failure in report.failures] == ["gpu_driver_hung"]
    if mark.exists():  # on a very slow machine it may not have come that far
        assert not Path(f"/proc/{mark.read_text()}").exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("print('NVML says hello')", "exit status 0 and NVML says hello"),
        ("print('[1, 2]')", "exit status 0 and [1, 2]"),
        ("raise SystemExit(3)", "exit status 3 and nothing"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "exit status -11 and nothing"),
        (f"print({json.dumps(ANSWER | {'gpus': [{'pci_address': 'here'}]})!r})", "exit status 0 and {"),
    ],
)
async def test_an_answer_that_cannot_be_read_is_a_failure(text: str, said: str, bare: Path) -> None:
    (failure,) = (await read(bare, program(text))).failures
    assert (failure.code, failure.sentence.startswith(said)) == ("gpu_driver_failed", True), failure


async def test_a_child_that_cannot_be_started_is_a_failure(bare: Path) -> None:
    (failure,) = (await read(bare, {NVIDIA: ("/nowhere/python",)})).failures
    assert (failure.code, "No such file" in failure.sentence) == ("gpu_driver_failed", True)


async def test_gpus_of_another_machine_do_not_count(bare: Path) -> None:
    report = await read(bare, answering(gpus=[ROW | {"pci_address": "00000000:AA:00.0"}]))
    assert (report.gpus, [failure.code for failure in report.failures]) == ((), ["gpu_driver_failed"])


async def test_a_machine_without_gpus_starts_nothing(recorded: Callable[..., Path], tmp_path: Path) -> None:
    started = tmp_path / "started"
    asked = program(f"open({str(started)!r}, 'w')")
    assert await read(recorded("rxe"), asked | {AMD: asked[NVIDIA]}) == GpuReport(())
    assert not started.exists()


async def test_gpus_of_both_makers_are_asked_of_their_own(
    recorded: Callable[..., Path], hosts: Any, tmp_path: Path
) -> None:
    machine = hosts.flat()
    gpu = "/sys/devices/pci0000:00/0000:00:07.0"
    machine.texts |= {f"{gpu}/vendor": "0x1002", f"{gpu}/class": "0x120000"}
    amd = ANSWER | {
        "source": "amdsmi",
        "gpus": [{"index": 0, "pci_address": "0000:00:07.0", "name": "AMD Instinct MI300X"}],
    }
    programs = answering(gpus=[ROW]) | {AMD: program(f"print({json.dumps(amd)!r})")[NVIDIA]}
    report = await read(machine.write(tmp_path / "both"), programs)
    assert (report.gpus, set(report.sources)) == (
        (H200, Gpu("0000:00:07.0", index=0, name="AMD Instinct MI300X")),
        {"nvml", "amdsmi"},
    )


def test_addresses_of_nvml_are_written_as_the_kernel_writes_them() -> None:
    assert [kernel_address(one) for one in ("00000000:1A:00.0", "00010000:C1:00.0")] == [
        "0000:1a:00.0",
        "10000:c1:00.0",
    ]
    with pytest.raises(ValueError, match="not enough values"):
        kernel_address("here")
