"""The path MTU that RoCE can use over an Ethernet MTU, by the rule that the kernel itself applies."""

from collections.abc import Iterable

# GRH 40, UDP 8, BTH 12, XRC 4, atomic 28, ICRC 4: what the kernel's iboe_get_mtu() takes off
HEADERS_BYTES = 96
PATH_MTUS_BYTES = (4096, 2048, 1024, 512, 256)


def roce_mtu_bytes(netdev_mtus_bytes: Iterable[int]) -> int | None:
    """The largest path MTU that fits the smallest netdev; None when none is known or not even 256 fits."""
    smallest = min((mtu for mtu in netdev_mtus_bytes if mtu > 0), default=0)
    return next((mtu for mtu in PATH_MTUS_BYTES if mtu + HEADERS_BYTES <= smallest), None)
