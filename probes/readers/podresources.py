"""What the kubelet of this node has really allocated, asked on its PodResources socket. Nothing is held between calls.

gRPC is loaded only once the socket answers, so a machine without one pays nothing. The socket is root's: the process
needs uid 0 and no capability, and the directory as a hostPath (a socket alone goes stale when the kubelet restarts).

Source: the kubelet's server.go and apis/podresources: 100 questions a second, 10 at once, then ResourceExhausted, which
is also the code of a message that is too large.
"""

import socket
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from probes import Owner, ProbeError, Reason
from probes._host import Tree
from probes.readers import podresources_messages as messages
from probes.readers.podresources_messages import Device, Held

T = TypeVar("T")

SOCKET = "/var/lib/kubelet/pod-resources/kubelet.sock"
LIMIT_BYTES = 16 << 20  # gRPC's own 4 MiB are too few for large nodes; this is what the kubelet's tests use
CONNECT_SECONDS = 2.0
TRIES, PAUSE_SECONDS = 4, 0.1  # the kubelet refills ten questions in that time
SERVICE = "/v1.PodResourcesLister/"

REASONS = {
    "socket_absent": Reason("this process does not see the kubelet's PodResources socket", Owner.PLATFORM),
    "socket_denied": Reason("this process may not open the kubelet's PodResources socket", Owner.PLATFORM),
    "kubelet_unreachable": Reason("nothing answers on the kubelet's PodResources socket", Owner.PLATFORM),
    "kubelet_silent": Reason("the kubelet did not answer about pod resources in time", Owner.PLATFORM),
    "kubelet_busy": Reason("others ask the kubelet about pod resources too often", Owner.PLATFORM),
    "answer_too_large": Reason("the kubelet's answer about pod resources is over 16 MiB", Owner.PLATFORM),
    "answer_unreadable": Reason("the kubelet's answer about pod resources is broken", Owner.PLATFORM),
    "kubelet_refused": Reason("the kubelet refused to tell about pod resources", Owner.PLATFORM),
    "question_unknown": Reason("the kubelet is too old for the question, or it is turned off there", Owner.PLATFORM),
    "pod_not_listed": Reason("the kubelet has no such pod", Owner.PLATFORM),
    "grpc_missing": Reason("the Python package grpcio is not installed", Owner.PLATFORM),
}


@dataclass(frozen=True, slots=True)
class PodResources:
    """The kubelet's answers over one open channel. Each blocks for at most ``seconds``.

    Whatever keeps a question from its answer is a ProbeError with one of REASONS.
    """

    ask: Callable[[str, bytes], bytes]
    name: str

    def list(self) -> tuple[Held, ...]:
        """Each container that holds devices or claims. Before Kubernetes 1.34 terminated pods may be among them."""
        return self._read(messages.read_list, self.ask("List", b""))

    def allocatable(self) -> tuple[Device, ...] | None:
        """All healthy devices, in use or not; None from a kubelet that does not tell."""
        try:
            answer = self.ask("GetAllocatableResources", b"")
        except ProbeError as error:
            if error.reason == "question_unknown":
                return None
            raise
        return self._read(messages.read_allocatable, answer)

    def pod(self, pod: str) -> tuple[Held, ...] | None:
        """What a pod ("namespace/name") holds now; nothing where the kubelet knows none of that name.

        None from a kubelet that cannot be asked for one pod (before 1.34): its ``list`` is all there is.
        """
        namespace, _, name = pod.partition("/")
        try:
            answer = self.ask("Get", messages.pod_request(namespace, name))
        except ProbeError as error:
            if error.reason in {"question_unknown", "pod_not_listed"}:
                return () if error.reason == "pod_not_listed" else None
            raise
        return self._read(messages.read_pod, answer)

    def _read(self, reader: Callable[[bytes], T], answer: bytes) -> T:
        try:
            return reader(answer)
        except ValueError as error:
            raise ProbeError("answer_unreadable", f"{self.name}: {error}") from None


@contextmanager
def open_podresources(tree: Tree, path: str = SOCKET, seconds: float = 5.0) -> Iterator[PodResources]:
    """Open the kubelet's socket for a few questions. Blocks: use it in a worker thread. ProbeError as in REASONS."""
    real = str(tree.root / path.lstrip("/"))
    tree.exists(path)
    _connect(real, path)
    try:
        import grpc
    except ImportError:
        raise ProbeError("grpc_missing", f"{path}: no package grpcio found, one wanted") from None
    options = [("grpc.max_receive_message_length", LIMIT_BYTES), ("grpc.enable_http_proxy", 0)]
    with closing(grpc.insecure_channel(f"unix://{real}", options=options)) as channel:

        def ask(method: str, request: bytes) -> bytes:
            return _answer(lambda: channel.unary_unary(SERVICE + method)(request, timeout=seconds), path, seconds)

        yield PodResources(ask, path)


def _connect(real: str, path: str) -> None:
    """Try the socket alone: its errors are plain, those of gRPC are sentences."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as opened:
        opened.settimeout(CONNECT_SECONDS)
        try:
            opened.connect(real)
        except FileNotFoundError:
            wanted = "the kubelet's wanted (its directory as a hostPath: node.podResources in the chart, an opt-in)"
            raise ProbeError("socket_absent", f"{path}: no such socket found, {wanted}") from None
        except PermissionError:
            raise ProbeError("socket_denied", f"{path}: permission denied, uid 0 wanted (no capability)") from None
        except OSError as error:
            sentence = f"{path}: {error.strerror or error} found, a kubelet that answers wanted"
            raise ProbeError("kubelet_unreachable", sentence) from None


def _answer(call: Callable[[], Any], path: str, seconds: float) -> bytes:
    import grpc

    for left in reversed(range(TRIES)):
        try:
            return bytes(call())
        except grpc.RpcError as error:
            code, details = error.code().name, error.details() or ""
            if not (left and _is_rate_limit(code, details)):
                raise _refusal(code, details, path, seconds) from None
        time.sleep(PAUSE_SECONDS)
    raise AssertionError("the last try returns or raises")


def _is_rate_limit(code: str, details: str) -> bool:
    return code == "RESOURCE_EXHAUSTED" and "rate limit" in details


def _refusal(code: str, details: str, path: str, seconds: float) -> ProbeError:
    if code == "RESOURCE_EXHAUSTED":
        return _exhausted(details, path)
    if code == "DEADLINE_EXCEEDED":
        return ProbeError("kubelet_silent", f"{path}: no answer within {seconds:g} s found, one wanted")
    return ProbeError(_reason(code, details), f"{path}: {code} ({details}) found, an answer wanted")


def _reason(code: str, details: str) -> str:
    """The kubelet's own refusals are plain errors of Go, which have no code of their own."""
    if code == "UNIMPLEMENTED" or (code == "UNKNOWN" and details.endswith("disabled")):
        return "question_unknown"
    if code == "NOT_FOUND" or (code == "UNKNOWN" and details.endswith("not found")):
        return "pod_not_listed"
    return "kubelet_unreachable" if code == "UNAVAILABLE" else "kubelet_refused"


def _exhausted(details: str, path: str) -> ProbeError:
    if _is_rate_limit("RESOURCE_EXHAUSTED", details):
        return ProbeError("kubelet_busy", f"{path}: {details} found, fewer questions from others wanted")
    return ProbeError("answer_too_large", f"{path}: {details} found, at most {LIMIT_BYTES >> 20} MiB wanted")
