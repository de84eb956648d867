"""Netdevs, the addresses of the namespace, and versions, as files tell them."""

from collections.abc import Callable
from pathlib import Path

from probes._host import Tree
from probes.readers.addresses import read_local_addresses
from probes.readers.netdevs import Netdev, read_bond_members, read_netdev, read_netdev_names
from probes.readers.versions import read_versions


def test_a_netdev_is_read(recorded: Callable[..., Path]) -> None:
    assert read_netdev(Tree(recorded("rxe")), "eth1") == Netdev("eth1", "up", True, 1500, 3, "")


def test_an_absent_netdev_is_empty(recorded: Callable[..., Path]) -> None:
    assert read_netdev(Tree(recorded("rxe")), "eth9") == Netdev("eth9", "", None, 0, None, "")


def test_members_of_a_bond_are_read(tmp_path: Path) -> None:
    net = tmp_path / "sys/class/net"
    for name, carrier in (("eth1", "1"), ("eth2", "0")):
        (net / name).mkdir(parents=True)
        (net / name / "carrier").write_text(carrier)
        (net / name / "master").symlink_to("../bond0")
    (net / "bond0/bonding").mkdir(parents=True)
    (net / "bond0/bonding/slaves").write_text("eth1 eth2\n")
    (net / "bonding_masters").write_text("bond0\n")
    tree = Tree(tmp_path)
    assert [(netdev.name, netdev.carrier, netdev.master) for netdev in read_bond_members(tree, "bond0")] == [
        ("eth1", True, "bond0"),
        ("eth2", False, "bond0"),
    ]
    assert read_bond_members(tree, "eth1") == ()
    assert read_netdev_names(tree) == {"bond0", "eth1", "eth2"}


def test_local_addresses_are_those_of_the_kernels_tables(recorded: Callable[..., Path]) -> None:
    assert read_local_addresses(Tree(recorded("rxe"))) == {"127.0.0.1", "192.0.2.1", "fe80::5054:ff:fe12:3401"}


def test_local_addresses_are_unknown_without_tables(tmp_path: Path) -> None:
    assert read_local_addresses(Tree(tmp_path)) is None


def test_versions_of_a_gpu_node(recorded: Callable[..., Path]) -> None:
    assert read_versions(Tree(recorded("h100x8"))) == {
        "kernel": "6.8.0-60-generic",
        "rdma_core": "44.0",
        "mlx5_core": "24.10-1.1.4",
        "nvidia": "570.133.20",
        "nvidia_peermem": "",
        "nvidia_open": "yes",
    }


def test_versions_of_a_closed_gpu_driver(recorded: Callable[..., Path]) -> None:
    line = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.183.01  Sun May 12 19:39:15 UTC 2024"
    versions = read_versions(Tree(recorded("h100x8", {"/proc/driver/nvidia/version": line})))
    assert (versions["nvidia"], versions["nvidia_open"]) == ("535.183.01", "no")


def test_what_is_absent_has_no_version(tmp_path: Path) -> None:
    assert set(read_versions(Tree(tmp_path)).values()) == {""}
