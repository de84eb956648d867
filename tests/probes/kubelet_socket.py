"""A kubelet's PodResources socket below a temporary root: a real gRPC server that answers what a test tells it.

The messages are written here from the public definition, apart from the program's own reading of them.
"""

import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc

DIRECTORY = "var/lib/kubelet/pod-resources"
LARGEST_BYTES = 64 << 20
Answer = Callable[[bytes, Any], bytes]


class Kubelet:
    """``answers`` maps a method to bytes or to a function of the request and gRPC's context; it may change any time."""

    def __init__(self, root: Path, answers: dict[str, bytes | Answer]) -> None:
        self.root = root
        self.answers = answers
        self.asked: list[str] = []
        self._server = grpc.server(
            ThreadPoolExecutor(4),
            options=[("grpc.max_send_message_length", LARGEST_BYTES), ("grpc.so_reuseport", 0)],
        )
        self._server.add_generic_rpc_handlers((_Service(self),))
        folder = root / DIRECTORY
        folder.mkdir(parents=True)
        self.socket = folder / "kubelet.sock"
        self._server.add_insecure_port(f"unix://{self.socket}")
        self._server.start()

    def die(self) -> None:
        """End at once, with calls that are being answered cut off; the socket goes away."""
        self._server.stop(None)

    def close(self) -> None:
        """End and wait for it."""
        self._server.stop(None).wait()


class _Service(grpc.GenericRpcHandler):
    def __init__(self, kubelet: Kubelet) -> None:
        self._kubelet = kubelet

    def service(self, details: Any) -> Any:
        method = details.method.removeprefix("/v1.PodResourcesLister/")
        answer = self._kubelet.answers.get(method)
        if answer is None:
            return None

        def reply(request: bytes, context: Any) -> bytes:
            self._kubelet.asked.append(method)
            return answer if isinstance(answer, bytes) else answer(request, context)

        return grpc.unary_unary_rpc_method_handler(reply)


@contextmanager
def running(answers: dict[str, bytes | Answer]) -> Iterator[Kubelet]:
    """Serve below a root whose path is short, as a socket's has to be."""
    with tempfile.TemporaryDirectory(prefix="kubelet") as root:
        kubelet = Kubelet(Path(root), answers)
        try:
            yield kubelet
        finally:
            kubelet.close()


def refuse(code: str, details: str) -> Answer:
    """An answer that is an error."""

    def reply(_: bytes, context: Any) -> bytes:
        context.abort(grpc.StatusCode[code], details)
        raise AssertionError("abort raises")

    return reply


def message(*fields: tuple[int, str | int | bytes]) -> bytes:
    """Write fields in wire format."""
    return b"".join(_field(number, value) for number, value in fields)


def devices(resource: str, *ids: str, numa: tuple[int, ...] | None = None) -> bytes:
    """ContainerDevices."""
    topology = [] if numa is None else [(3, message(*((1, message((1, node))) for node in numa)))]
    return message((1, resource), *((2, one) for one in ids), *topology)


def container(name: str, *held: bytes, claims: tuple[bytes, ...] = ()) -> bytes:
    """ContainerResources."""
    return message((1, name), *((2, one) for one in held), *((5, one) for one in claims))


def claim(name: str, *given: tuple[str, str, str], share: str = "") -> bytes:
    """DynamicResource: each of ``given`` is driver, pool and device."""
    rest = [(5, share)] if share else []
    resources = [message((2, driver), (3, pool), (4, device), *rest) for driver, pool, device in given]
    return message((2, name), (3, "team"), *((4, one) for one in resources))


def pod(name: str, *containers: bytes, namespace: str = "team") -> bytes:
    """PodResources."""
    return message((1, name), (2, namespace), *((3, one) for one in containers))


def answer(*parts: bytes) -> bytes:
    """Any of the three answers: field 1, once or repeated."""
    return message(*((1, one) for one in parts))


def _field(number: int, value: str | int | bytes) -> bytes:
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value & (1 << 64) - 1)
    data = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _varint(number: int) -> bytes:
    data = bytearray()
    while number > 0x7F:
        data.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*data, number])
