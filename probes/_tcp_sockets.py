"""The TCP sockets of this network namespace, from /proc/net/tcp and tcp6: who listens, and which connects hang."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from probes._host import Tree

# Listening sockets come first in the kernel's table, so a cut never hides them.
TABLE_LIMIT_BYTES = 4 << 20
ESTABLISHED, SYN_SENT, LISTEN = 0x01, 0x02, 0x0A


@dataclass(frozen=True, slots=True)
class TcpSocket:
    """One row: ports as numbers, ``state`` as the kernel numbers it (ESTABLISHED, SYN_SENT, LISTEN ...)."""

    local_port: int
    remote_port: int
    state: int


def read_tcp_sockets(tree: Tree) -> tuple[TcpSocket, ...]:
    """All TCP sockets, IPv4 first. OSError when not even the IPv4 table can be read."""
    ipv4 = tree.text("/proc/net/tcp", TABLE_LIMIT_BYTES)
    try:
        ipv6 = tree.text("/proc/net/tcp6", TABLE_LIMIT_BYTES)
    except OSError:  # a kernel without IPv6
        ipv6 = ""
    return tuple(_rows(ipv4.splitlines()[1:])) + tuple(_rows(ipv6.splitlines()[1:]))


def listening(sockets: Iterable[TcpSocket], port: int) -> bool:
    """Whether somebody listens on the port."""
    return any(socket.state == LISTEN and socket.local_port == port for socket in sockets)


def connecting(sockets: Iterable[TcpSocket], port: int) -> bool:
    """Whether a connect to that port of another machine is still unanswered."""
    return any(socket.state == SYN_SENT and socket.remote_port == port for socket in sockets)


def _rows(lines: Iterable[str]) -> Iterator[TcpSocket]:
    for line in lines:
        fields = line.split()
        if len(fields) > 3:
            yield TcpSocket(_port(fields[1]), _port(fields[2]), int(fields[3], 16))


def _port(address: str) -> int:
    return int(address.rpartition(":")[2], 16)
