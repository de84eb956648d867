"""The two machines of the cluster: lab guests with containerd, a disk of their own, and a door to the API server."""

from deploy.lab import host
from deploy.lab.shape import Door, Guest, Shape

API_DOOR = Door("10.0.2.100", 6443, "./api-door")
SERVICE_ADDRESS = "10.0.0.1"

SHAPE = Shape(
    "cluster",
    memory_mib=2048,
    processors=2,
    packages=("containerd", "runc", "containernetworking-plugins"),
    modules=("bridge", "br_netfilter", "nf_nat", "nft_chain_nat", "nft_masq", "nft_nat"),
    doors=(API_DOOR,),
    disk=True,
)
NODES = tuple(guest.name for guest in SHAPE.guests)
PORT_FILE = "api.port"


def pod_network(guest: Guest) -> str:
    """The network of the pods on one machine."""
    return f"10.244.{guest.index}.0/24"


def other(guest: Guest) -> Guest:
    """The machine at the other end of the cable."""
    return next(one for one in SHAPE.guests if one.index != guest.index)


def open_api_door(port: int) -> None:
    """Lead the guests' connections to the API server on this port of 127.0.0.1, each by a process of its own."""
    folder = SHAPE.run_directory
    folder.mkdir(parents=True, exist_ok=True)
    (folder / PORT_FILE).write_text(str(port))
    door = folder / API_DOOR.command
    door.write_text(f'#!/bin/sh\nexec {host.find_tool("busybox")} nc 127.0.0.1 "$(cat {PORT_FILE})"\n')
    door.chmod(0o755)
