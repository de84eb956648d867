"""Which TCP port of this machine a program may listen on."""

import contextlib
import socket


def free_port(wanted: int) -> int:
    """Return the wanted port of 127.0.0.1, or any free one where it is taken."""
    for port in (wanted, 0):
        with contextlib.suppress(OSError), socket.socket() as one:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            one.bind(("127.0.0.1", port))
            return int(one.getsockname()[1])
    raise OSError("no free port on 127.0.0.1")
