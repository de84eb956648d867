"""Interfaces, addresses, routes and neighbours of this network namespace, by netlink.

A recorded tree has them as JSON in ``/proc/net/netlink.json``, a name that the kernel's own /proc cannot have.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from probes._host import Tree
from probes.readers.optional import innermost_pci_address, optional_link

RECORDED = "/proc/net/netlink.json"
LIMIT_BYTES = 8 << 20

# linux/if.h, linux/if_addr.h, linux/neighbour.h
IFF_UP = 0x1
IFA_F_DADFAILED = 0x08
NEIGHBOUR_STATES = {
    0x01: "incomplete",
    0x02: "reachable",
    0x04: "stale",
    0x08: "delay",
    0x10: "probe",
    0x20: "failed",
    0x40: "noarp",
    0x80: "permanent",
}
UNICAST = 1
FAMILIES = (2, 10)


@dataclass(frozen=True, slots=True)
class Interface:
    """One network device of this namespace. ``kind`` is ``vlan``, ``macvlan`` ... or empty for a function of a card.

    ``vlan_id`` is 0 where it is none. ``pci_address`` is empty for what is no PCI function by itself. ``up`` is the
    administrative state, ``operstate`` what the link does.
    """

    name: str
    index: int
    up: bool
    operstate: str
    mtu_bytes: int
    mac: str
    kind: str = ""
    vlan_id: int = 0
    pci_address: str = ""


@dataclass(frozen=True, slots=True)
class InterfaceAddress:
    """One address; ``duplicate`` says that IPv6's detection found another machine with it."""

    interface: str
    address: str
    prefix_length: int
    duplicate: bool = False


@dataclass(frozen=True, slots=True)
class Route:
    """One unicast route; ``destination`` is a network, ``0.0.0.0/0`` or ``::/0`` for the default one."""

    interface: str
    destination: str
    gateway: str = ""
    table: int = 254


@dataclass(frozen=True, slots=True)
class Neighbour:
    """One neighbour; ``state`` is a word of ``ip neigh`` in lower case."""

    interface: str
    address: str
    mac: str
    state: str


@dataclass(frozen=True, slots=True)
class Namespace:
    """All that netlink tells."""

    interfaces: tuple[Interface, ...] = ()
    addresses: tuple[InterfaceAddress, ...] = ()
    routes: tuple[Route, ...] = ()
    neighbours: tuple[Neighbour, ...] = field(default=())


def read_namespace(tree: Tree) -> Namespace:
    """All of this namespace, or of a recorded tree. Blocks. OSError where netlink refuses or was not recorded."""
    if tree.exists(RECORDED):
        return _recorded(json.loads(tree.text(RECORDED, LIMIT_BYTES)))
    if str(tree.root) != "/":
        raise FileNotFoundError(2, "no netlink in this recorded tree", RECORDED)
    return _asked(tree)


def namespace_text(namespace: Namespace) -> str:
    """The JSON that a recorded tree keeps."""
    return json.dumps(asdict(namespace), indent=1)


def _recorded(rows: Mapping[str, Any]) -> Namespace:
    return Namespace(
        tuple(Interface(**row) for row in rows["interfaces"]),
        tuple(InterfaceAddress(**row) for row in rows["addresses"]),
        tuple(Route(**row) for row in rows["routes"]),
        tuple(Neighbour(**row) for row in rows["neighbours"]),
    )


def _asked(tree: Tree) -> Namespace:
    from pyroute2 import IPRoute, NetlinkError

    try:
        with IPRoute() as route:
            links = sorted(route.get_links(), key=lambda message: message["index"])
            addresses, routes = list(route.get_addr()), list(route.get_routes())
            neighbours = [one for family in FAMILIES for one in route.get_neighbours(family=family)]
    except NetlinkError as error:
        raise OSError(error.code, str(error), "netlink") from error
    names = {link["index"]: link.get_attr("IFLA_IFNAME") for link in links}
    return Namespace(
        tuple(_interface(tree, link) for link in links),
        tuple(_address(one, names) for one in addresses),
        tuple(_route(one, names) for one in routes if one["type"] == UNICAST and one["family"] in FAMILIES),
        tuple(_neighbour(one, names) for one in neighbours),
    )


def _interface(tree: Tree, link: Any) -> Interface:
    name = link.get_attr("IFLA_IFNAME")
    return Interface(
        name=name,
        index=link["index"],
        up=bool(link["flags"] & IFF_UP),
        operstate=(link.get_attr("IFLA_OPERSTATE") or "").lower(),
        mtu_bytes=link.get_attr("IFLA_MTU") or 0,
        mac=(link.get_attr("IFLA_ADDRESS") or "").lower(),
        kind=link.get_nested("IFLA_LINKINFO", "IFLA_INFO_KIND") or "",
        vlan_id=link.get_nested("IFLA_LINKINFO", "IFLA_INFO_DATA", "IFLA_VLAN_ID") or 0,
        pci_address=_function(optional_link(tree, f"/sys/class/net/{name}/device")),
    )


def _function(device: str) -> str:
    """A sub-function lies below the function of its card and is none by itself."""
    last = device.rpartition("/")[2]
    return last if innermost_pci_address(device) == last else ""


def _address(one: Any, names: Mapping[int, str]) -> InterfaceAddress:
    address = one.get_attr("IFA_LOCAL") or one.get_attr("IFA_ADDRESS")
    flags = one.get_attr("IFA_FLAGS") or one["flags"]
    return InterfaceAddress(names.get(one["index"], ""), str(address), one["prefixlen"], bool(flags & IFA_F_DADFAILED))


def _route(one: Any, names: Mapping[int, str]) -> Route:
    anywhere = "0.0.0.0" if one["family"] == FAMILIES[0] else "::"  # noqa: S104 the default route, nothing is bound
    return Route(
        interface=names.get(one.get_attr("RTA_OIF") or 0, ""),
        destination=f"{one.get_attr('RTA_DST') or anywhere}/{one['dst_len']}",
        gateway=str(one.get_attr("RTA_GATEWAY") or ""),
        table=one.get_attr("RTA_TABLE") or one["table"],
    )


def _neighbour(one: Any, names: Mapping[int, str]) -> Neighbour:
    return Neighbour(
        interface=names.get(one["ifindex"], ""),
        address=str(one.get_attr("NDA_DST") or ""),
        mac=str(one.get_attr("NDA_LLADDR") or "").lower(),
        state=NEIGHBOUR_STATES.get(one["state"], "none"),
    )
