"""The channel lines of an NCCL log: the only lines that say over what two ranks really talk.

``Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA`` of versions 2.18 to 2.30, with every suffix that the source
prints: ``(n)`` after the device for PXN through rank n, ``/GDRDMA``, ``(PCI)``, ``/Shared``; ranks are followed by an
index or, in older versions, by the GPU's bus id. ``Channel 00/24 : 0 1`` is a plan and no channel.
Source: NCCL's transport/net.cc, p2p.cc, shm.cc and coll_net.cc over its tags.
"""

import re
from dataclasses import dataclass
from enum import StrEnum


class Direction(StrEnum):
    """Which end wrote the line; within a node there is only one line, the sender's."""

    SEND = "send"
    RECEIVE = "receive"
    LOCAL = "local"


@dataclass(frozen=True, slots=True)
class Channel:
    """One connection. ``medium`` is NET, COLLNET, P2P or SHM.

    ``network`` is the network's name as NCCL prints it (IB, Socket, Libfabric, IBext_v10, ...), for P2P and SHM the
    kind (CUMEM, IPC, direct pointer, ...). ``device`` is the network device's index, ``gdr`` whether the NIC reads or
    writes GPU memory itself, ``proxy_rank`` the rank whose NIC is used (PXN). For COLLNET ``to_rank`` is -1.
    """

    number: int
    connection: int
    from_rank: int
    to_rank: int
    direction: Direction
    medium: str
    network: str
    device: int | None
    gdr: bool
    proxy_rank: int | None = None

    @property
    def over_network(self) -> bool:
        """Whether a NIC carries it."""
        return self.medium in ("NET", "COLLNET")

    @property
    def owner_rank(self) -> int:
        """The rank that wrote the line."""
        return self.to_rank if self.direction is Direction.RECEIVE and self.medium == "NET" else self.from_rank


_RANK = r"(\d{1,6})\[[0-9a-fA-F]+\]"
_ENDS = re.compile(rf"\bChannel (\d{{1,4}})(?:/(\d{{1,4}}))? : {_RANK} -> {_RANK} (?:\[(send|receive)\] )?via (\S.*)$")
_COLLNET = re.compile(r"\bCollNet (\d{1,4})/(\d{1,4}) : (\d{1,6}) \[(send|receive)\] via (COLLNET/\S.*)$")
_NET = re.compile(
    r"(?P<medium>NET|COLLNET)/(?P<network>.+?)/(?P<device>\d{1,6})(?:\((?P<proxy>\d{1,9})\))?"
    r"(?P<gdr>/GDRDMA)?(?:\(PCI\))?(?P<shared>/Shared)?(?P<rest>.*)"
)
_REST = re.compile(r"\s*(?:comm \S+.*)?")


def read_channel(line: str) -> Channel | None:
    """The channel of one line; None for any other line and for one that is cut."""
    if " via " not in line:
        return None
    if match := _ENDS.search(line):
        number, connection, first, second, direction, rest = match.groups()
        return _channel((number, connection, first, second), direction, rest)
    if match := _COLLNET.search(line):
        number, connection, rank, direction, rest = match.groups()
        return _channel((number, connection, rank, "-1"), direction, rest)
    return None


def _channel(numbers: tuple[str, str | None, str, str], direction: str | None, via: str) -> Channel | None:
    number, connection, first, second = (int(one or 0) for one in numbers)
    if not via.startswith(("NET/", "COLLNET/")):
        medium, _, kind = via.partition("/")
        if medium not in ("P2P", "SHM") or not kind:
            return None
        return Channel(number, connection, first, second, Direction.LOCAL, medium, kind.strip(), None, gdr=False)
    net = _NET.fullmatch(via.rstrip())
    if net is None or direction is None or not _REST.fullmatch(net["rest"]):
        return None
    return Channel(
        number=number,
        connection=connection,
        from_rank=first,
        to_rank=second,
        direction=Direction(direction),
        medium=net["medium"],
        network=net["network"],
        device=int(net["device"]),
        gdr=net["gdr"] is not None,
        proxy_rank=int(net["proxy"]) if net["proxy"] else None,
    )
