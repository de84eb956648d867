"""What the kubelet of this node answers on its own port, asked with the service account's token.

The token leaves only after the certificate was looked at. Where the certificate is not verified against a CA, it must
still name the node: the handshake is made twice, first to learn the certificate and then trusting that one alone.

Sources: the kubelet's server/auth.go and its self-signed serving certificate ("node@time"); Kubernetes documentation on
TLS bootstrapping ("system:node:node").
"""

import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from http.client import HTTPException, HTTPSConnection
from ipaddress import ip_address
from typing import Any

from probes import ProbeError

LIMIT_BYTES = 1 << 20
# openssl/x509_vfy.h: the kubelet's self-signed certificate expires after a year and is not renewed
X509_V_FLAG_NO_CHECK_TIME = 0x200000


@dataclass(frozen=True, slots=True)
class Kubelet:
    """Where to ask and whom to believe. ``ca`` is PEM, empty for "same node, certificate not verified".

    ``node`` is the name that the certificate must bear; where it is empty the certificate must fit the address.
    ``limit_seconds`` is for the connection and for each read.
    """

    address: str
    port: int
    ca: str
    node: str
    limit_seconds: float

    def __str__(self) -> str:
        host = f"[{self.address}]" if ":" in self.address else self.address
        return f"https://{host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Answer:
    """An HTTP answer; ``names`` are those of the certificate."""

    status: int
    body: str
    names: tuple[str, ...]


def ask(kubelet: Kubelet, path: str, token: str) -> Answer:
    """GET ``path``; blocks. ProbeError ``kubelet_unreachable``, ``certificate_refused`` or ``other_kubelet``."""
    connection = HTTPSConnection(
        kubelet.address, kubelet.port, timeout=kubelet.limit_seconds, context=_context(kubelet)
    )
    try:
        connection.connect()
        names = _names_on(connection.sock)
        if kubelet.node and not any(same_node(kubelet.node, name) for name in names):
            found = f"a certificate of {', '.join(names) or 'no name'} found"
            raise ProbeError("other_kubelet", f"{kubelet}: {found}, the kubelet of {kubelet.node} wanted")
        connection.request("GET", path, headers={"Authorization": f"Bearer {token}", "Accept": "application/json"})
        answer = connection.getresponse()
        body = answer.read(LIMIT_BYTES)
        return Answer(answer.status, body.decode(errors="replace"), names)
    except (OSError, HTTPException) as error:
        raise _unasked(kubelet, error) from None
    finally:
        connection.close()


def same_node(node: str, name: str) -> bool:
    """Whether a certificate's name is the node's; one of them may be without its domain."""
    first, second = node.lower(), name.lower()
    return first == second or (("." in first) != ("." in second) and first.split(".")[0] == second.split(".")[0])


def is_loopback(address: str) -> bool:
    """Whether an address never leaves this network namespace."""
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return address == "localhost"


def _context(kubelet: Kubelet) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = bool(kubelet.ca) and not kubelet.node
    try:
        if kubelet.ca:
            context.load_verify_locations(cadata=kubelet.ca)
            return context
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN | ssl.VerifyFlags(X509_V_FLAG_NO_CHECK_TIME)
        context.load_verify_locations(cadata=_certificate(kubelet))
    except ssl.SSLError as error:
        raise _unasked(kubelet, error) from None
    return context


def _certificate(kubelet: Kubelet) -> bytes:
    """The certificate that is shown there, before anything is sent."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    connection = HTTPSConnection(kubelet.address, kubelet.port, timeout=kubelet.limit_seconds, context=context)
    try:
        connection.connect()
        return connection.sock.getpeercert(binary_form=True) or b""
    except OSError as error:
        raise _unasked(kubelet, error) from None
    finally:
        connection.close()


def _names_on(sock: Any) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_names(sock.getpeercert() or {})))


def _names(certificate: Any) -> Iterator[str]:
    for part in certificate.get("subject", ()):
        for kind, text in part:
            if kind == "commonName":
                yield text.removeprefix("system:node:").partition("@")[0]
    yield from (text for _, text in certificate.get("subjectAltName", ()))


def _unasked(kubelet: Kubelet, error: Exception) -> ProbeError:
    if isinstance(error, ssl.SSLCertVerificationError):
        wanted = "one of the CA in ca_file wanted (or unverified_same_node: true)"
        return ProbeError("certificate_refused", f"{kubelet}: {error.verify_message}, {wanted}")
    if isinstance(error, TimeoutError):
        return ProbeError(
            "kubelet_unreachable", f"{kubelet}: silence for {kubelet.limit_seconds:g} s, an answer wanted"
        )
    said = getattr(error, "strerror", "") or str(error) or type(error).__name__
    return ProbeError("kubelet_unreachable", f"{kubelet}: {said}, an answer wanted")
