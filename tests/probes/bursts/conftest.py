"""A node whose ranks are started for real, as a program that plays one or as our own over played libraries."""

import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from probes._burst_node import BurstNode
from probes._burst_settings import BurstSettings
from probes._group import BurstRequest, BurstWay, Collective
from probes._host import Host
from probes.readers.gpu import Gpu, GpuReport

LIBRARIES = Path(__file__).parents[2] / "fixtures" / "gpu_libraries"
GPUS = tuple(
    Gpu(f"0000:{n:02x}:00.0", uuid=f"GPU-{n:08x}-0000-0000-0000-000000000000", index=n, processes=0, utilisation=0.0)
    for n in range(4)
)


def burst(**changes: Any) -> BurstRequest:
    """Two ranks on one node, with a limit that no test waits for unless it wants to."""
    wanted = {
        "way": BurstWay.NCCL4PY,
        "collective": Collective.ALL_REDUCE,
        "message_bytes": 4000,
        "iterations": 3,
        "warmup_iterations": 1,
        "ranks": 2,
        "first_rank": 0,
        "ranks_here": 2,
        "limit_seconds": 300.0,
        "members": ("node-a",),
    }
    return BurstRequest(**(wanted | changes))


@pytest.fixture
def asked() -> Callable[..., BurstRequest]:
    return burst


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """A recorded machine with one RDMA port that has counted something."""
    counters = tmp_path / "machine/sys/class/infiniband/mlx5_0/ports/1/counters"
    counters.mkdir(parents=True)
    (counters / "port_xmit_data").write_text("17\n")
    return tmp_path / "machine"


@pytest.fixture
def node(machine: Path, tmp_path: Path) -> Iterator[Callable[..., BurstNode]]:
    """``node("die:1")`` is a node whose ranks behave so; ``gpus`` and settings can be given."""
    hosts: list[Host] = []

    def make(behaviour: str = "ok", gpus: tuple[Gpu, ...] = GPUS, **changes: Any) -> BurstNode:
        async def report() -> GpuReport:
            return GpuReport((), gpus, ("nvml",))

        environment = {"PATH": changes.pop("path", "/usr/bin:/bin"), "SECRET": "x"} | changes.pop("environment", {})
        hosts.append(Host(machine, environment=environment))
        (tmp_path / "bursts").mkdir(exist_ok=True)
        arguments = (str(LIBRARIES / "fake_rank.py"), behaviour)
        return BurstNode(
            "node-a",
            hosts[-1],
            report,
            **({"directory": tmp_path / "bursts", "rank_argv": arguments, "settings": BurstSettings()} | changes),
        )

    yield make
    for host in hosts:
        host.close()


@pytest.fixture(scope="session")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """libcuda.so.1 and libnccl.so.2 whose GPU is the host; skipped where there is no compiler."""
    return _compiled(tmp_path_factory.mktemp("gpu_libraries"))


@pytest.fixture(scope="session")
def old_libraries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with an NCCL from before 2.28."""
    return _compiled(tmp_path_factory.mktemp("old_gpu_libraries"), "-DBEFORE_2_28")


def _compiled(folder: Path, *options: str) -> Path:
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("not run: no C compiler for the libraries of a GPU")
    for source, library in (("cuda.c", "libcuda.so.1"), ("nccl.c", "libnccl.so.2")):
        flags = ("-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror")
        subprocess.run([compiler, *flags, *options, "-o", folder / library, LIBRARIES / source], check=True)
    return folder
