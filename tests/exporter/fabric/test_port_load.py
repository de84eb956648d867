"""How busy a port is comes from its own counters, read twice; what cannot be told is never taken for idle."""

import runpy
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from exporter.fabric.port_load import UNKNOWN_LOAD, measure_load, measure_loads
from probes import HcaClass
from probes._endpoint import TestRequest, Tool
from probes._host import Host, Tree
from probes._local_endpoint import LocalNode
from probes._tool_version import ToolVersions

HOSTS = runpy.run_path(str(Path(__file__).parents[2] / "fixtures" / "hosts" / "make_hosts.py"))["HOSTS"]
SENT_BYTES = 4_000_000
COMPUTE = HcaClass("compute", "mlx5_core", devices=("mlx5_0",))


@dataclass
class BusyMachine:
    """A machine whose port sends SENT_BYTES, and receives little, between any two reads of it."""

    host: Host
    root: Path

    async def read(self, reader: Callable[[Tree], object]) -> object:
        answer = await self.host.read(reader)
        for name, units_of_four in (("port_xmit_data", SENT_BYTES // 4), ("port_rcv_data", 100)):
            file = counter(self.root, name)
            file.write_text(f"{int(file.read_text()) + units_of_four}\n")
        return answer


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return HOSTS["h100x8"]().write(tmp_path / "h100x8")


def node(root: Path) -> LocalNode:
    return LocalNode("a", Host(root), lambda: {"compute": COMPUTE}, lambda _member: {}, ToolVersions(""))


def request(hca: str) -> TestRequest:
    return TestRequest(Tool.WRITE_BW, hca, "b", 65536, 100, 30.0)


def counter(root: Path, name: str) -> Path:
    return root / "sys/class/infiniband/mlx5_0/ports/1/counters" / name


async def test_a_quiet_port_carries_nothing_of_its_400_gbit_a_second(root):
    load = await measure_load(node(root), request("mlx5_0"))
    assert (load.bytes_per_second, load.rate_bytes_per_second) == (0.0, 50e9)


async def test_the_busier_direction_counts_in_bytes_and_not_in_units_of_four(root):
    busy = replace(node(root), host=BusyMachine(Host(root), root))
    load = await measure_load(busy, request("mlx5_0"))
    # The readings are at least half a second apart, and on a busy machine a few more.
    assert load.bytes_per_second is not None
    assert SENT_BYTES / 10 < load.bytes_per_second <= SENT_BYTES / 0.5


async def test_a_counter_at_its_end_is_unknown_and_not_idle(root):
    for name in ("port_xmit_data", "port_rcv_data"):
        counter(root, name).write_text(f"{2**32 - 1}\n")
    load = await measure_load(node(root), request("mlx5_0"))
    assert load.bytes_per_second is None


@pytest.mark.parametrize("hca", ["mlx5_7", "mlx5_70"])
async def test_an_hca_that_is_unplanned_or_absent_is_the_endpoints_to_name(root, hca):
    assert await measure_load(node(root), request(hca)) == UNKNOWN_LOAD


async def test_every_planned_hca_that_is_here_is_measured_for_a_burst(root):
    planned = HcaClass("compute", "mlx5_core", devices=("mlx5_0", "mlx5_1", "mlx5_99"))
    loads = await measure_loads(replace(node(root), hcas=lambda: {"compute": planned}))
    assert {hca: (load.bytes_per_second, load.rate_bytes_per_second) for hca, load in loads.items()} == {
        "mlx5_0": (0.0, 50e9),
        "mlx5_1": (0.0, 50e9),
    }
