"""The plainest HTTP client, the same for every peer: one connection, one GET, read to the end."""

import socket

LIMIT_SECONDS = 60.0
RECEIVE_BYTES = 1 << 20


class NoAnswerError(Exception):
    """Nobody listens, or the answer is no success."""


def get(port: int, path: str, encoding: str = "identity") -> bytes:
    """Return the body of a successful GET from 127.0.0.1; NoAnswerError otherwise."""
    request = f"GET {path} HTTP/1.0\r\nHost: 127.0.0.1\r\nAccept: text/plain\r\nAccept-Encoding: {encoding}\r\n\r\n"
    received = bytearray()
    try:
        with socket.create_connection(("127.0.0.1", port), LIMIT_SECONDS) as connection:
            connection.sendall(request.encode())
            while chunk := _receive(connection):
                received += chunk
    except OSError as error:
        raise NoAnswerError(str(error)) from error
    head, _, body = received.partition(b"\r\n\r\n")
    if b" 200 " not in head.partition(b"\r\n")[0]:
        raise NoAnswerError(head.decode(errors="replace"))
    return bytes(body)


def _receive(connection: socket.socket) -> bytes:
    # A peer that writes head and body apart would otherwise wait 40 ms for our acknowledgement, and seem slow.
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
    return connection.recv(RECEIVE_BYTES)
