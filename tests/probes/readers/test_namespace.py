"""Interfaces, addresses, routes and neighbours: recorded ones, and those of a network namespace made for the test."""

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from probes._host import Tree
from probes.readers.namespace import Interface, InterfaceAddress, Neighbour, Route, namespace_text, read_namespace

MAKE = """
set -e
ip link set lo up
ip link add far0 type veth peer name net1
ip link set net1 address 02:00:00:00:01:01 mtu 4200 up
ip link set far0 up
ip addr add 198.51.100.7/24 dev net1
ip route add 203.0.113.0/24 via 198.51.100.1 dev net1
ip route add default via 198.51.100.1 dev net1 table 101
ip neigh add 198.51.100.9 lladdr 02:00:00:00:00:09 dev net1
ip link add link net1 name rail0 type macvlan mode bridge
for _ in $(seq 600); do ip link show net1 | grep -q "state UP" && break; sleep 0.1; done
exec "$@"
"""
READ = """
from probes._host import Tree
from probes.readers.namespace import namespace_text, read_namespace
print(namespace_text(read_namespace(Tree())))
"""


def test_a_recorded_namespace_reads_as_it_was_written(recorded: Callable[..., Path]) -> None:
    tree = Tree(recorded("pod"))
    found = read_namespace(tree)
    assert found.interfaces[0] == Interface("net1", 3, True, "up", 9000, "02:00:00:00:01:01", "", 0, "0000:1a:00.2")
    assert found.addresses[:2] == (
        InterfaceAddress("net1", "198.51.100.1", 24),
        InterfaceAddress("net1", "fe80::1", 64),
    )
    assert found.routes[0] == Route("net1", "198.51.100.0/24")
    assert found.neighbours == (Neighbour("net1", "198.51.100.2", "02:00:00:00:01:02", "reachable"),)
    tree.root.joinpath("proc/net/netlink.json").write_text(namespace_text(replace(found, neighbours=())))
    assert read_namespace(tree) == replace(found, neighbours=())


def test_a_recorded_tree_without_netlink_cannot_be_told_from_this_machine(recorded: Callable[..., Path]) -> None:
    with pytest.raises(FileNotFoundError):
        read_namespace(Tree(recorded("rxe")))


def test_a_real_namespace_is_read_whole() -> None:
    argv = ["unshare", "--user", "--map-root-user", "--net", "bash", "-c", MAKE, "make", sys.executable, "-c", READ]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[3])
    if done.returncode:
        pytest.skip(f"not run: no network namespace to be had here ({done.stderr.strip()[-200:]})")
    found = json.loads(done.stdout)
    interfaces = {one["name"]: {key: one[key] for key in one if key != "index"} for one in found["interfaces"]}
    plain = {"vlan_id": 0, "pci_address": ""}
    net1 = {
        "name": "net1",
        "up": True,
        "operstate": "up",
        "mtu_bytes": 4200,
        "mac": "02:00:00:00:01:01",
        "kind": "veth",
    }
    assert interfaces["net1"] == net1 | plain
    mac = interfaces["rail0"]["mac"]
    rail = {"name": "rail0", "up": False, "operstate": "down", "mtu_bytes": 4200, "mac": mac, "kind": "macvlan"}
    assert interfaces["rail0"] == rail | plain
    address = {"interface": "net1", "address": "198.51.100.7", "prefix_length": 24, "duplicate": False}
    assert address in found["addresses"]
    via = {"interface": "net1", "gateway": "198.51.100.1"}
    assert via | {"destination": "203.0.113.0/24", "table": 254} in found["routes"]
    assert via | {"destination": "0.0.0.0/0", "table": 101} in found["routes"]
    known = {"interface": "net1", "address": "198.51.100.9", "mac": "02:00:00:00:00:09", "state": "permanent"}
    assert known in found["neighbours"]
