"""The check of a GPU machine, where the machine is played: what comes out as stated is ok, all else is told."""

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from deploy.gpu_check import collective_rows, fault_rows, transport_rows
from deploy.gpu_check.__main__ import ROWS, main
from deploy.gpu_check.bench import Bench, FailedError, NotRunError
from probes._burst_settings import BurstSettings
from probes._group import BurstWay, Collective
from probes._host import Host
from probes.readers.gpu import Gpu, GpuReport
from probes.readers.pci import NVIDIA, PciFunction

LIBRARIES = Path(__file__).parents[2] / "fixtures" / "gpu_libraries"
GPUS = tuple(
    Gpu(f"0000:{n:02x}:00.0", uuid=f"GPU-{n:08x}-0000-0000-0000-00000000000f", processes=0, utilisation=0.0)
    for n in range(2)
)
FUNCTIONS = tuple(PciFunction(gpu.pci_address, 0x030200, NVIDIA, 0, ("pci0000:00",)) for gpu in GPUS)
REPORT = GpuReport(FUNCTIONS, GPUS, ("nvml",))


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("not run: no C compiler for the libraries of a GPU")
    folder = tmp_path_factory.mktemp("libraries")
    for source, library in (("cuda.c", "libcuda.so.1"), ("nccl.c", "libnccl.so.2")):
        subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", folder / library, LIBRARIES / source], check=True)
    python = folder / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH="$PYTHONPATH:{LIBRARIES}/nccl4py" exec {sys.executable} "$@"\n')
    python.chmod(0o755)
    return folder


@pytest.fixture
def bench(libraries: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Bench]]:
    monkeypatch.setenv("TMPDIR", "/tmp")
    monkeypatch.setattr(collective_rows, "SIZES", (8, 4000))
    monkeypatch.setattr(transport_rows, "MESSAGE_BYTES", 4000)
    monkeypatch.setattr(fault_rows, "LONG_MESSAGE_BYTES", 4000)
    host = Host(environment={"PATH": "/usr/bin:/bin", "LD_LIBRARY_PATH": str(libraries)})

    def make(*looks: GpuReport, report: GpuReport = REPORT, **settings: Any) -> Bench:
        left = list(looks)

        async def look() -> GpuReport:
            return left.pop(0) if left else report

        chosen = BurstSettings(**({"python": str(libraries / "python")} | settings))
        return Bench(host, report, tmp_path, chosen, "/nowhere", print, look)

    yield make
    host.close()


@pytest.mark.parametrize("collective", Collective)
async def test_a_collective_with_right_data_at_every_size_is_ok(bench, collective: Collective, tmp_path: Path):
    made = bench()
    said = await ROWS[f"{collective} by nccl4py"](made)
    assert said.startswith("data right at every size; ")
    assert made.measured[BurstWay.NCCL4PY, collective] > 0
    kept = (tmp_path / f"nccl4py-{collective}-4000.json").read_text()
    assert "GPU-00000001-0000-0000-0000-000000000000" in kept
    assert GPUS[1].uuid not in kept


def test_no_name_of_a_gpu_is_recorded_whoever_made_it(bench, tmp_path: Path):
    amd = "2eff74a1-0000-1000-80d7-3ef6a2a1f5f3"
    made = bench(report=replace(REPORT, gpus=(GPUS[0], replace(GPUS[1], uuid=amd))))
    made.keep("said", f"{GPUS[0].uuid}, {amd}, MIG-6c7f8a90-1b2c-5d3e-8f40-112233445566")
    nothing = "0000-0000-0000-000000000000"
    assert (tmp_path / "said").read_text() == f"GPU-00000000-{nothing}, GPU-00000001-{nothing}, GPU-other"


@pytest.mark.parametrize("row", [name for name in ROWS if "by nccl" in name or "rank" in name or "size" in name])
async def test_gpus_without_a_driver_make_no_row_of_bursts(bench, row: str):
    with pytest.raises(NotRunError):
        await ROWS[row](bench(report=replace(REPORT, gpus=())))


async def test_wrong_data_fails(bench):
    with pytest.raises(FailedError, match="rank 1: 1 wrong elements found, 0 wanted"):
        await ROWS["all_reduce by nccl4py"](bench(environment={"NCCL_PROTO": "wrong"}))


async def test_without_the_programs_a_row_is_not_run(bench):
    with pytest.raises(NotRunError, match="tool_missing: gpu-check: all_reduce_perf not found in the path"):
        await ROWS["all_reduce by nccl-tests"](bench())


async def test_two_ways_that_find_about_the_same_agree(bench):
    made = bench()
    with pytest.raises(NotRunError, match="no collective of more than one rank was measured both ways"):
        await collective_rows.agreement(made)
    made.measured.update({(way, Collective.ALL_REDUCE): 1e9 for way in BurstWay})
    assert await collective_rows.agreement(made) == "nccl4py against nccl-tests: all_reduce +0.0%"
    made.measured[BurstWay.NCCL4PY, Collective.ALL_REDUCE] = 0.8e9
    with pytest.raises(FailedError, match=r"all_reduce -20\.0% found, at most 15% apart wanted"):
        await collective_rows.agreement(made)


@pytest.mark.parametrize(
    ("row", "found"),
    [
        ("transport P2P", "intra_node over P2P/CUMEM: "),
        ("transport SHM", "intra_node over SHM/direct/direct: "),
        ("transport sockets", "tcp over NET/Socket: "),
    ],
)
async def test_transports_are_told_apart_by_their_logs(bench, row: str, found: str):
    assert (await ROWS[row](bench())).startswith(found)


async def test_a_transport_that_was_not_taken_fails(bench):
    with pytest.raises(FailedError, match="intra_node over SHM"):
        await ROWS["transport P2P"](bench(environment={"NCCL_P2P_DISABLE": "1"}))


async def test_a_killed_rank_is_named(bench):
    said = await ROWS["killed rank"](bench())
    assert "rank_died: rank 1 ended with signal SIGKILL" in said
    assert "peer_ended: rank 0 ended because rank 1 ended with signal SIGKILL" in said


async def test_an_absurd_size_is_refused(bench):
    gpus = tuple(replace(gpu, memory_bytes=2**40, memory_used_bytes=0) for gpu in GPUS)
    said = await ROWS["absurd size"](bench(report=replace(REPORT, gpus=gpus)))
    assert said.startswith("gpu_memory: gpu-check: rank ")


async def test_a_job_on_the_gpus_defers_the_next(bench):
    working = replace(REPORT, gpus=tuple(replace(gpu, processes=1) for gpu in GPUS))
    said = await ROWS["busy GPU"](bench(REPORT, working))
    assert said == f"deferred: gpu-check: {GPUS[0].uuid} at 0000:00:00.0: 1 processes found, an idle GPU wanted"


async def test_without_a_gpu_every_row_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    if Path("/proc/driver/nvidia").exists():
        pytest.skip("not run: there is a GPU here")
    assert await main(["--record", str(tmp_path)]) == 0
    assert (tmp_path / "table.txt").read_text() == "".join(f"{name}: not run: no GPU\n" for name in ROWS)
    assert "no GPU" in capsys.readouterr().out
