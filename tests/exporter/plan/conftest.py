"""A small registry of probes, and a plan that uses them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import pytest

from exporter.registry import ProbeModule
from probes import Bytes, BytesPerSecond, HcaClass, Ratio, Seconds


@dataclass(frozen=True)
class Ports:
    hcas: HcaClass
    rate: BytesPerSecond = 0.0
    active_mtu: int = 0
    driver: str = ""
    share: Ratio = 0.0
    netdev: bool = False


@dataclass(frozen=True)
class MemoryLock:
    limit: Bytes
    settle: Seconds | None = None
    names: tuple[str, ...] = ()
    resources: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.limit > 2**60:
            raise ValueError("limit: too much found, at most 1 EiB wanted")


@dataclass(frozen=True)
class WriteBandwidth:
    hcas: HcaClass
    message: Bytes = 8 * 2**20
    volume: Bytes = 1600 * 2**20
    iterations: int = 5

    @property
    def run_bytes(self) -> int:
        return self.volume


def module(name: str, kind: str, probe: type) -> ProbeModule:
    return ProbeModule(name, name.partition(".")[0], 2, kind, probe, {}, {}, frozenset(), "It holds.")


@pytest.fixture(scope="session")
def modules() -> Mapping[str, ProbeModule]:
    found = [
        module("access.ports", "host", Ports),
        module("runtime.memory_lock", "host", MemoryLock),
        module("transfers.write_bandwidth", "path", WriteBandwidth),
        module("transfers.collectives", "group", WriteBandwidth),
    ]
    return {one.name: one for one in found}


PLAN = """\
cluster: prod-eu-1
reviewed: {by: ana, on: 2026-11-02, ref: "git:3f2c9e1"}
topology: {rack: "label:topology.example/rack"}
pools:
  - name: h100
    nodes: {names: [gpu-001, gpu-002], at_least: 1}
    hcas:
      compute: {match: {driver: mlx5_core, link_layer: Ethernet, pci: ["0000:1a:00.0", "3C:00.0"]}}
    checks:
      access.ports: {hcas: compute, rate: 400Gbit/s, active_mtu: 4096}
      runtime.memory_lock:
        - {id: lock, limit: 64GiB, every: 5m}
        - {id: lock-small, limit: 1GiB, fresh: 1h, limit_seconds: 12}
    tests:
      - {id: bw-large, probe: transfers.write_bandwidth, hcas: compute, message: 8MiB, volume: 1600MiB, every: 6h,
         targets: [{metric: bandwidth, at_least: 360Gbit/s, source: "acceptance run 2026-03-02"}]}
paths: {same_rail: {mode: sampled, peers_per_hca: 8}, cross_rail: {mode: one_per_rail_pair}}
budget: {tests_enabled: true, bytes_per_node_per_hour: 20GiB}
"""


@pytest.fixture
def changed() -> Callable[..., str]:
    """``changed((old, new), ...)`` is the plan with these texts replaced."""

    def change(*replacements: tuple[str, str]) -> str:
        text = PLAN
        for old, new in replacements:
            assert old in text
            text = text.replace(old, new)
        return text

    return change
