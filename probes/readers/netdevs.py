"""Network devices of this namespace, and which of them belong to the hardware port of an RDMA device."""

import re
from dataclasses import dataclass

from probes._host import Tree
from probes.readers.optional import optional_link, optional_number, optional_text

NET = "/sys/class/net"
REPRESENTOR = re.compile(r"(c\d+)?pf\d+(vf|sf)\d+")


@dataclass(frozen=True, slots=True)
class Netdev:
    """One network device. ``carrier`` is None where it cannot be read (interface administratively down).

    ``carrier_changes`` counts since the device was made, None when unknown; ``master`` is the bond or bridge it is in.
    """

    name: str
    operstate: str
    carrier: bool | None
    mtu_bytes: int
    carrier_changes: int | None
    master: str


def read_netdev(tree: Tree, name: str) -> Netdev:
    """One network device by name; one that is not there has the operstate ``""`` and the MTU 0."""
    path = f"{NET}/{name}"
    carrier = optional_text(tree, f"{path}/carrier")
    changes = optional_number(tree, f"{path}/carrier_changes")
    return Netdev(
        name=name,
        operstate=optional_text(tree, f"{path}/operstate"),
        carrier=carrier == "1" if carrier else None,
        mtu_bytes=optional_number(tree, f"{path}/mtu", 0),
        carrier_changes=changes if changes >= 0 else None,
        master=optional_link(tree, f"{path}/master").rpartition("/")[2],
    )


def read_netdev_names(tree: Tree) -> frozenset[str]:
    """The network devices of this network namespace."""
    return frozenset(name for name in tree.names(NET) if name != "bonding_masters")


def read_bond_members(tree: Tree, name: str) -> tuple[Netdev, ...]:
    """The members of a bond; none when it is not one."""
    return tuple(read_netdev(tree, member) for member in optional_text(tree, f"{NET}/{name}/bonding/slaves").split())


def port_netdevs(tree: Tree, device_path: str, port: int | None) -> tuple[Netdev, ...]:
    """The network devices on the same hardware as an RDMA device (``/sys/class/infiniband/mlx5_0``).

    ``port`` picks one port of a device with several; a software device names its netdev in ``parent``. Representors of
    virtual functions are left out. Those of other network namespaces are not shown by the kernel.
    """
    names = tree.names(f"{device_path}/device/net")
    if not names:
        parent = optional_text(tree, f"{device_path}/parent")
        names = [parent] if parent and tree.exists(f"{NET}/{parent}") else []
    names = [name for name in names if not REPRESENTOR.match(optional_text(tree, f"{NET}/{name}/phys_port_name"))]
    if port is not None:
        names = [name for name in names if optional_number(tree, f"{NET}/{name}/dev_port", 0) == port - 1]
    return tuple(read_netdev(tree, name) for name in names)
