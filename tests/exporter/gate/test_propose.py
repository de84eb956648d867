"""A proposed plan says what was seen, opens nothing, and can be read back."""

from dataclasses import dataclass

import pytest

from exporter.gate.propose import SeenHca, check_lines, propose_plan, seen_hcas
from exporter.plan import Nodes
from exporter.plan.load import parse_plan
from exporter.registry import ProbeModule
from probes import Bytes, BytesPerSecond, HcaClass
from probes.readers.sysfs import Device, Port

EIGHT = [
    SeenHca("mlx5_core", "Ethernet", 50e9, 4096, f"0000:{bus:02x}:00.0", f"mlx5_{number}")
    for number, bus in enumerate(range(0x1A, 0x22))
]
STORAGE = SeenHca("mlx5_core", "Ethernet", 25e9, 1024, "0000:5e:00.0", "mlx5_8")
RXE = SeenHca("rxe", "Ethernet", 1.25e9, 1024, "", "rxe0", "eth0")


@dataclass(frozen=True)
class Ports:
    hcas: HcaClass
    rate: BytesPerSecond = 0.0
    active_mtu: int = 0


@dataclass(frozen=True)
class MemoryLock:
    limit: Bytes


@dataclass(frozen=True)
class PingPong:
    hcas: HcaClass


@pytest.fixture
def modules():
    found = {
        "access.ports": ("host", Ports),
        "runtime.memory_lock": ("host", MemoryLock),
        "connectivity.ping_pong": ("path", PingPong),
    }
    return {
        name: ProbeModule(name, name.partition(".")[0], 1, kind, probe, {}, {}, frozenset(), "")
        for name, (kind, probe) in found.items()
    }


def test_nodes_with_the_same_hcas_share_a_pool_and_every_number_says_that_it_was_seen(modules):
    text = propose_plan("lab", {"b": [*EIGHT, STORAGE], "a": [*EIGHT, STORAGE], "c": [RXE]}, modules)
    pci = ", ".join(f'"{hca.pci_address}"' for hca in EIGHT)
    assert text == (
        "# Proposed from what was seen. Every number below was found, not agreed: correct it, then fill in reviewed.\n"
        'cluster: "lab"\n'
        "reviewed: {by: , on: , ref: }    # unreviewed: the gate stays closed until all three are there\n"
        "pools:\n"
        "  - name: pool-1\n"
        '    nodes: {names: ["a", "b"]}    # 2 seen\n'
        "    hcas:\n"
        f'      compute: {{match: {{driver: "mlx5_core", link_layer: Ethernet, pci: [{pci}]}}}}    # 8 seen\n'
        '      other-1: {match: {driver: "mlx5_core", link_layer: Ethernet, pci: ["0000:5e:00.0"]}}    # 1 seen\n'
        "    checks:\n"
        "      access.ports: {hcas: compute, rate: 400Gbit/s, active_mtu: 4096}\n"
        "      # runtime.memory_lock: {}, limit to be agreed\n"
        "    tests:    # without an agreed target, each with its source, their results stay unknown\n"
        "      - {probe: connectivity.ping_pong, hcas: compute}\n"
        "  - name: pool-2\n"
        '    nodes: {names: ["c"]}    # 1 seen\n'
        "    hcas:\n"
        '      compute: {match: {driver: "rxe", link_layer: Ethernet, devices: ["rxe0"]}}    # 1 seen\n'
        "    checks:\n"
        "      access.ports: {hcas: compute, rate: 10Gbit/s, active_mtu: 1024}\n"
        "      # runtime.memory_lock: {}, limit to be agreed\n"
        "    tests:    # without an agreed target, each with its source, their results stay unknown\n"
        "      - {probe: connectivity.ping_pong, hcas: compute}\n"
        "paths: {same_rail: {mode: sampled, peers_per_hca: 2}, cross_rail: {mode: one_per_rail_pair}}\n"
        "budget: {tests_enabled: false}    # true allows tests, within 10GiB a node and hour\n"
    )
    plan = parse_plan(text, modules)
    assert (plan.reviewed, plan.budget.tests_enabled) == (None, False)
    assert [(pool.nodes, len(pool.hcas["compute"].pci)) for pool in plan.pools] == [
        (Nodes(("a", "b")), 8),
        (Nodes(("c",)), 0),
    ]


@dataclass(frozen=True)
class Allocated:
    within: str


@dataclass(frozen=True)
class AllocatedAsSeen:
    within: str = "PXB"


@dataclass(frozen=True)
class Allocations:
    of: str = "placement.allocated"


@pytest.mark.parametrize(
    ("allocated", "lines"),
    [
        (
            Allocated,
            [
                "      # placement.allocated: {}, within to be agreed",
                "      # placement.allocations: {}, together with placement.allocated",
            ],
        ),
        (AllocatedAsSeen, ["      placement.allocated: {}", "      placement.allocations: {}"]),
    ],
)
def test_what_judges_another_probes_word_is_proposed_with_that_probe_or_not_at_all(allocated, lines):
    probes = {"placement.allocated": ("host", allocated), "placement.allocations": ("cluster", Allocations)}
    modules = {
        name: ProbeModule(name, "placement", 4, kind, probe, {}, {}, frozenset(), "")
        for name, (kind, probe) in probes.items()
    }
    assert list(check_lines(modules, lambda _: {})) == lines


def test_nodes_without_hcas_are_said(modules):
    text = propose_plan('l"ab', {"a": []}, modules)
    assert "    # no HCAs seen on these nodes\n" in text
    assert 'cluster: "l\\"ab"\n' in text


def test_devices_of_the_reader_are_taken_over():
    port = Port(1, 4, "ACTIVE", 5, "LinkUp", "Ethernet", 50e9, "400 Gb/sec (4X NDR)", 4, 0, 0, ("eth2",), 4096)
    device = Device("mlx5_0", "mlx5_core", "28.1", "MT", "g", "t", "0000:1a:00.0", 0, "", "uverbs0", None, (port,))
    portless = Device("x", "d", "", "", "", "", "", -1, "", "", None, ())
    assert seen_hcas([device, portless]) == (
        SeenHca("mlx5_core", "Ethernet", 50e9, 4096, "0000:1a:00.0", "mlx5_0", "eth2"),
    )
