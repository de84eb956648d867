"""Network devices and addresses of this network namespace by netlink, and word of each change to them.

pyroute2 reads the tables. Waiting for a change needs no more than the header of a message, so it is a plain socket.
"""

import asyncio
import errno
import socket
import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

# linux/rtnetlink.h and linux/netlink.h
RTMGRP_LINK, RTMGRP_IPV4_IFADDR, RTMGRP_IPV6_IFADDR = 0x1, 0x10, 0x100
EVENTS = {16: "link", 17: "link", 20: "address", 21: "address"}
HEADER = struct.Struct("=IHHII")
RECEIVE_BYTES = 65536


@dataclass(frozen=True, slots=True)
class Link:
    """One network device. ``kind`` is ``vlan``, ``bond``, ``macvlan`` ... or empty; ``vlan_id`` is 0 where it is none.

    ``carrier`` is None when the kernel did not say; ``master`` is the name of the bond or bridge that it belongs to.
    """

    name: str
    index: int
    mtu_bytes: int
    operstate: str
    carrier: bool | None
    kind: str
    vlan_id: int
    master: str
    mac: str


@dataclass(frozen=True, slots=True)
class Address:
    """One IP address with its prefix length on a network device."""

    netdev: str
    address: str
    prefix_length: int


def read_links() -> tuple[Link, ...]:
    """All network devices of this namespace by index. Blocks: call it in a worker thread."""
    from pyroute2 import IPRoute

    with IPRoute() as route:
        messages = tuple(route.get_links())
    names = {message["index"]: message.get_attr("IFLA_IFNAME") for message in messages}
    return tuple(_link(message, names) for message in sorted(messages, key=lambda message: message["index"]))


def read_addresses() -> tuple[Address, ...]:
    """All IPv4 and IPv6 addresses of this namespace. Blocks: call it in a worker thread."""
    from pyroute2 import IPRoute

    with IPRoute() as route:
        names = {message["index"]: message.get_attr("IFLA_IFNAME") for message in route.get_links()}
        messages = tuple(route.get_addr())
    return tuple(
        Address(names.get(message["index"], ""), _own_address(message), message["prefixlen"]) for message in messages
    )


async def watch(on_event: Callable[[str], None]) -> None:
    """Call ``on_event("link")`` or ``("address")`` at once on each change in this namespace, until cancelled.

    Changes that the kernel had to drop count as both. OSError when netlink is not to be had.
    """
    groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_NONBLOCK, socket.NETLINK_ROUTE) as opened:
        opened.bind((0, groups))
        await follow(opened, on_event)


async def follow(opened: socket.socket, on_event: Callable[[str], None]) -> None:
    """``watch`` on a socket that is already subscribed and does not block."""
    loop = asyncio.get_running_loop()
    while True:
        try:
            events = set(_events(await loop.sock_recv(opened, RECEIVE_BYTES)))
        except OSError as error:
            if error.errno != errno.ENOBUFS:
                raise
            events = {"link", "address"}
        for event in sorted(events):
            on_event(event)


def _events(datagram: bytes) -> Iterator[str]:
    """The events of a datagram, which may hold several messages, each aligned to 4 bytes."""
    at = 0
    while at + HEADER.size <= len(datagram):
        length, kind, *_ = HEADER.unpack_from(datagram, at)
        if kind in EVENTS:
            yield EVENTS[kind]
        at += max(HEADER.size, (length + 3) & ~3)


def _link(message: Any, names: Mapping[int, str]) -> Link:
    carrier = message.get_attr("IFLA_CARRIER")
    return Link(
        name=message.get_attr("IFLA_IFNAME"),
        index=message["index"],
        mtu_bytes=message.get_attr("IFLA_MTU") or 0,
        operstate=(message.get_attr("IFLA_OPERSTATE") or "").lower(),
        carrier=None if carrier is None else bool(carrier),
        kind=message.get_nested("IFLA_LINKINFO", "IFLA_INFO_KIND") or "",
        vlan_id=message.get_nested("IFLA_LINKINFO", "IFLA_INFO_DATA", "IFLA_VLAN_ID") or 0,
        master=names.get(message.get_attr("IFLA_MASTER") or 0, ""),
        mac=message.get_attr("IFLA_ADDRESS") or "",
    )


def _own_address(message: Any) -> str:
    """On a point-to-point link IFA_ADDRESS is the peer's."""
    return str(message.get_attr("IFA_LOCAL") or message.get_attr("IFA_ADDRESS"))
