"""The GID table of a port, and the one GID that RoCE v2 from this network namespace should use.

A fixed index is never right: it moves with VLANs, IPv6 addresses, bonds and pods, and may differ at both ends.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from ipaddress import IPv6Address

from probes._host import Tree
from probes.readers.optional import optional_text
from probes.readers.sysfs import DEVICES

ROCE_V2 = "RoCE v2"
# the kernel fills the lowest free slot, so a longer gap than this means that nothing follows
GAP_SLOTS = 256


@dataclass(frozen=True, slots=True)
class Gid:
    """One used slot: ``address`` as ``inet_ntop`` writes it (``::ffff:192.0.2.1``), ``netdev`` empty on InfiniBand."""

    index: int
    address: str
    type: str
    netdev: str

    @property
    def ip(self) -> str:
        """The address as the network device has it: IPv4 where it is an IPv4-mapped one."""
        return self.address.removeprefix("::ffff:") if "." in self.address else self.address

    @property
    def link_local(self) -> bool:
        """Whether it works on one segment only."""
        return self.address.startswith("fe80:")


def read_gids(tree: Tree, device: str, port: int) -> tuple[Gid, ...]:
    """The used slots in order of their index. Empty slots answer EINVAL or zero; a long gap ends the walk."""
    return tuple(walk_gids(tree, device, port))


def walk_gids(tree: Tree, device: str, port: int) -> Iterator[Gid]:
    """Like ``read_gids``, slot by slot: whoever looks for one GID need not read the empty ones behind it."""
    path = f"{DEVICES}/{device}/ports/{port}"
    last_used = -1
    for index in sorted(int(name) for name in tree.names(f"{path}/gid_attrs/types") if name.isdigit()):
        if index - last_used > GAP_SLOTS:
            break
        if gid := _read_gid(tree, path, index):
            last_used = index
            yield gid


def usable_gids(gids: Iterable[Gid], *, netdevs: Collection[str] | None) -> tuple[Gid, ...]:
    """RoCE v2 GIDs on one of ``netdevs`` (None: on any) that are routable, IPv4-mapped ones first, then by index."""
    usable = (gid for gid in gids if _is_usable(gid, netdevs))
    return tuple(sorted(usable, key=lambda gid: ("." not in gid.address, gid.index)))


def choose_gid(gids: Iterable[Gid], *, netdevs: Collection[str] | None, address: str = "") -> Gid | None:
    """The GID to use: on one of ``netdevs``, RoCE v2, never link-local; the lowest index of the best kind.

    ``netdevs`` are those of this namespace; None where GIDs of others do too.

    With ``address`` (an IPv4 or IPv6 address of the HCA) only that one will do, and ``gids`` are read no further.
    """
    if not address:
        return next(iter(usable_gids(gids, netdevs=netdevs)), None)
    wanted = gid_address(address)
    return next((gid for gid in gids if gid.address == wanted and _is_usable(gid, netdevs)), None)


def gid_address(address: str) -> str:
    """An IPv4 or IPv6 address as the GID that stands for it, in the form of ``Gid.address``."""
    if ":" not in address:
        return f"::ffff:{address}"
    parsed = IPv6Address(address)
    return f"::ffff:{parsed.ipv4_mapped}" if parsed.ipv4_mapped else str(parsed)


def _is_usable(gid: Gid, netdevs: Collection[str] | None) -> bool:
    return gid.type == ROCE_V2 and (netdevs is None or gid.netdev in netdevs) and not gid.link_local


def _read_gid(tree: Tree, path: str, index: int) -> Gid | None:
    kind = optional_text(tree, f"{path}/gid_attrs/types/{index}")
    text = optional_text(tree, f"{path}/gids/{index}") if kind else ""
    if not text.strip("0:"):
        return None
    return Gid(index, gid_address(text), kind, optional_text(tree, f"{path}/gid_attrs/ndevs/{index}"))
