"""Devices and ports are read as the kernel lays them out."""

from collections.abc import Callable
from pathlib import Path

from probes._host import Tree
from probes.readers.sysfs import Device, Port, read_devices, read_states

RXE = "/sys/devices/virtual/infiniband/rxe0"


def test_a_soft_roce_device_has_its_netdev_and_no_pci_address(recorded: Callable[..., Path]) -> None:
    assert read_devices(Tree(recorded("rxe"))) == (
        Device(
            name="rxe0",
            driver="rxe",
            firmware="",
            board="",
            node_guid="5054:00ff:fe12:3401",
            hca_type="",
            pci_address="",
            numa_node=-1,
            physical_function="",
            uverbs="uverbs0",
            uverbs_number=(231, 192),
            ports=(
                Port(
                    number=1,
                    state=4,
                    state_word="ACTIVE",
                    phys_state=5,
                    phys_state_word="LinkUp",
                    link_layer="Ethernet",
                    rate_bytes_per_second=312_500_000.0,
                    rate_text="2.5 Gb/sec (1X SDR)",
                    lanes=1,
                    lid=0,
                    sm_lid=0,
                    netdevs=("eth1",),
                    active_mtu_bytes=1024,
                ),
            ),
        ),
    )


def test_a_pci_device_has_its_driver_numa_node_and_full_speed(recorded: Callable[..., Path]) -> None:
    device = read_devices(Tree(recorded("h100x8")))[5]
    assert (device.name, device.driver, device.pci_address, device.numa_node) == (
        "mlx5_5",
        "mlx5_core",
        "0000:96:00.0",
        1,
    )
    port = device.ports[0]
    assert (port.rate_bytes_per_second, port.lanes, port.netdevs, port.active_mtu_bytes) == (
        5e10,
        4,
        ("enp5np0",),
        4096,
    )


def test_an_infiniband_port_has_its_lids_and_no_mtu(recorded: Callable[..., Path]) -> None:
    port = read_devices(Tree(recorded("ib8")))[1].ports[0]
    assert (port.link_layer, port.lid, port.sm_lid, port.active_mtu_bytes) == ("InfiniBand", 0x11, 1, None)


def test_a_port_whose_files_are_gone_is_unreadable_and_not_active(recorded: Callable[..., Path]) -> None:
    root = recorded("rxe", {f"{RXE}/ports/1/state": None, f"{RXE}/ports/1/rate": None})
    port = read_devices(Tree(root))[0].ports[0]
    assert (port.state, port.state_word, port.rate_bytes_per_second, port.active) == (-1, "", 0.0, False)


def test_representors_of_virtual_functions_are_not_the_ports_netdev(recorded: Callable[..., Path], hosts) -> None:
    machine = hosts.h100x8()
    hardware = f"/sys/devices/pci0000:10/0000:10:01.0/0000:11:00.0/0000:12:02.0/{hosts.hca_address(0)}"
    root = recorded("h100x8", {f"{hardware}/net/eth9/phys_port_name": "pf0vf3"})
    net = root / "sys/class/net/eth9"
    net.symlink_to(f"../../..{hardware}/net/eth9")
    assert machine.links["/sys/bus/pci/devices/0000:15:00.0"] == hardware
    assert read_devices(Tree(root))[0].netdevs == ("enp0np0",)


def test_a_machine_without_rdma_has_no_devices(tmp_path: Path) -> None:
    assert (read_devices(Tree(tmp_path)), read_states(Tree(tmp_path))) == ((), ())


def test_the_states_are_read_as_text(recorded: Callable[..., Path]) -> None:
    assert read_states(Tree(recorded("rxe"))) == (("rxe0", "1", "4: ACTIVE", "5: LinkUp"),)
