"""RDMA devices and their ports as the kernel shows them below /sys/class/infiniband.

In the shared namespace mode the kernel lists every HCA of the node to every pod, so being listed is not access.
"""

import re
from dataclasses import dataclass

from probes._host import Tree
from probes.readers.netdevs import port_netdevs
from probes.readers.optional import (
    innermost_pci_address,
    leading_number,
    optional_link,
    optional_number,
    optional_text,
)
from probes.readers.roce_mtu import roce_mtu_bytes

DEVICES = "/sys/class/infiniband"
VERBS = "/sys/class/infiniband_verbs"
RATE = re.compile(r"(?P<gigabits>[\d.]+) Gb/sec(?: \((?P<lanes>\d+)X)?")
SOFTWARE_DRIVERS = {"rxe": "rxe", "Software iWARP stack": "siw"}


@dataclass(frozen=True, slots=True)
class Port:
    """One port. States are the kernel's number and word; UNREADABLE (-1) and ``""`` where the file gave nothing.

    ``rate_bytes_per_second`` and ``lanes`` are 0 when unknown. ``active_mtu_bytes`` is derived from the netdev's MTU
    on Ethernet by the kernel's own rule, and None on InfiniBand, where sysfs does not tell it.
    ``netdevs`` are those of this network namespace that belong to the same hardware port.
    """

    number: int
    state: int
    state_word: str
    phys_state: int
    phys_state_word: str
    link_layer: str
    rate_bytes_per_second: float
    rate_text: str
    lanes: int
    lid: int
    sm_lid: int
    netdevs: tuple[str, ...]
    active_mtu_bytes: int | None

    @property
    def active(self) -> bool:
        """ACTIVE and LinkUp: ready to carry traffic."""
        return self.state == 4 and self.phys_state == 5


@dataclass(frozen=True, slots=True)
class Device:
    """One RDMA device (HCA). ``pci_address`` is empty for software devices; ``numa_node`` is -1 when unknown.

    ``physical_function`` is the PCI address of the PF when this is a virtual function. ``uverbs`` is the name of its
    verbs device and ``uverbs_number`` its major and minor number, None when there is none.
    """

    name: str
    driver: str
    firmware: str
    board: str
    node_guid: str
    hca_type: str
    pci_address: str
    numa_node: int
    physical_function: str
    uverbs: str
    uverbs_number: tuple[int, int] | None
    ports: tuple[Port, ...]

    def port(self, number: int) -> Port | None:
        """The port of that number."""
        return next((port for port in self.ports if port.number == number), None)

    @property
    def netdevs(self) -> tuple[str, ...]:
        """The network devices of all ports."""
        return tuple(name for port in self.ports for name in port.netdevs)


def read_devices(tree: Tree) -> tuple[Device, ...]:
    """All RDMA devices, sorted by name; none where the class is absent. A file that cannot be read counts as empty."""
    verbs = _verbs_of_devices(tree)
    return tuple(_read_device(tree, name, verbs.get(name, "")) for name in tree.names(DEVICES))


def read_states(tree: Tree) -> tuple[tuple[str, str, str, str], ...]:
    """Device, port, state and physical state of every port as text: cheap enough for once a second."""
    return tuple(
        (device, port, optional_text(tree, f"{path}/state"), optional_text(tree, f"{path}/phys_state"))
        for device in tree.names(DEVICES)
        for port in tree.names(f"{DEVICES}/{device}/ports")
        for path in [f"{DEVICES}/{device}/ports/{port}"]
    )


def device_number(text: str) -> tuple[int, int] | None:
    """Major and minor of a ``dev`` file's ``231:192``; None for anything else."""
    major, _, minor = text.partition(":")
    return (int(major), int(minor)) if major.isdigit() and minor.isdigit() else None


def _read_device(tree: Tree, name: str, uverbs: str) -> Device:
    path = f"{DEVICES}/{name}"
    port_numbers = sorted(int(number) for number in tree.names(f"{path}/ports") if number.isdigit())
    return Device(
        name=name,
        driver=_driver(tree, path),
        firmware=optional_text(tree, f"{path}/fw_ver"),
        board=optional_text(tree, f"{path}/board_id"),
        node_guid=optional_text(tree, f"{path}/node_guid"),
        hca_type=optional_text(tree, f"{path}/hca_type"),
        pci_address=innermost_pci_address(optional_link(tree, f"{path}/device")),
        numa_node=optional_number(tree, f"{path}/device/numa_node"),
        physical_function=innermost_pci_address(optional_link(tree, f"{path}/device/physfn")),
        uverbs=uverbs,
        uverbs_number=device_number(optional_text(tree, f"{VERBS}/{uverbs}/dev")) if uverbs else None,
        ports=tuple(_read_port(tree, name, number, len(port_numbers)) for number in port_numbers),
    )


def _driver(tree: Tree, path: str) -> str:
    """Software devices have no driver link of their own, and on some kernels that of their netdev."""
    if software := SOFTWARE_DRIVERS.get(optional_text(tree, f"{path}/node_desc")):
        return software
    return optional_link(tree, f"{path}/device/driver").rpartition("/")[2]


def _read_port(tree: Tree, device: str, number: int, port_count: int) -> Port:
    path = f"{DEVICES}/{device}/ports/{number}"
    state, phys_state, rate_text, link_layer, lid, sm_lid = (
        optional_text(tree, f"{path}/{name}") for name in ("state", "phys_state", "rate", "link_layer", "lid", "sm_lid")
    )
    netdevs = port_netdevs(tree, f"{DEVICES}/{device}", number if port_count > 1 else None)
    rate = RATE.match(rate_text)
    return Port(
        number=number,
        state=leading_number(state),
        state_word=state.partition(": ")[2],
        phys_state=leading_number(phys_state),
        phys_state_word=phys_state.partition(": ")[2],
        link_layer=link_layer,
        rate_bytes_per_second=float(rate["gigabits"]) * 1e9 / 8 if rate else 0.0,
        rate_text=rate_text,
        lanes=int(rate["lanes"] or 0) if rate else 0,
        lid=leading_number(lid),
        sm_lid=leading_number(sm_lid),
        netdevs=tuple(netdev.name for netdev in netdevs),
        active_mtu_bytes=roce_mtu_bytes(netdev.mtu_bytes for netdev in netdevs) if link_layer == "Ethernet" else None,
    )


def _verbs_of_devices(tree: Tree) -> dict[str, str]:
    names = (name for name in tree.names(VERBS) if name.startswith("uverbs"))
    return {optional_text(tree, f"{VERBS}/{name}/ibdev"): name for name in names}
