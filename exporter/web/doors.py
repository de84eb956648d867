"""Nobody takes all connections of a node: each peer has so many at a time, and an idle one does not stay.

Each open connection is one file fewer for the probes.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable

PER_PEER = 64
IDLE_SECONDS = 75.0

MakeProtocol = Callable[[], asyncio.Protocol]


class Doors:
    """Makes the protocol of each new connection by ``make``, for at most ``per_peer`` at a time of one address."""

    def __init__(self, make: MakeProtocol, per_peer: int = PER_PEER) -> None:
        self._make = make
        self._per_peer = per_peer
        self._open: defaultdict[str, set[asyncio.BaseTransport]] = defaultdict(set)

    def __call__(self) -> asyncio.Protocol:
        """Return the protocol that looks at a connection before anybody else does."""
        return _Door(self)

    def admit(self, transport: asyncio.Transport) -> None:
        """Hand the connection over, or break it off where its peer has too many already."""
        peer = str((transport.get_extra_info("peername") or ("",))[0])
        held = self._open[peer] = {one for one in self._open[peer] if not one.is_closing()}
        if len(held) >= self._per_peer:
            transport.abort()
            return
        held.add(transport)
        protocol = self._make()
        transport.set_protocol(protocol)
        protocol.connection_made(transport)
        self._forget_closed()

    def _forget_closed(self) -> None:
        gone = [peer for peer, held in self._open.items() if all(one.is_closing() for one in held)]
        for peer in gone:
            del self._open[peer]


class _Door(asyncio.Protocol):
    def __init__(self, doors: Doors) -> None:
        self._doors = doors

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._doors.admit(transport)
