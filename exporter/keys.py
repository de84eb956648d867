"""Only the gate can drive a node, and one node cannot drive another: each has a key of its own, made from the master.

A request carries ``Authorization: RDMA-Gate <unix time>:<nonce>:<epoch>:<mac>``, where the mac is the hex HMAC-SHA256
by the node's key over method, path with query, SHA-256 of the body, time, nonce and epoch. The epoch is a random word
that the node makes at its start, so that no request to its earlier life can be played to it again; a node answers one
that lacks it with it, in EPOCH_HEADER. Keys and macs are never logged.
"""

import hashlib
import hmac
import secrets
from collections.abc import Callable
from dataclasses import dataclass

SCHEME = "RDMA-Gate"
EPOCH_HEADER = "RDMA-Gate-Epoch"
SKEW_LIMIT_SECONDS = 300.0
NONCES_KEPT = 65536


class Unauthorized(Exception):
    """The request is not the gate's; the sentence says what was found and what was wanted.

    ``epoch`` is the one that a request to this node has to be signed for.
    """

    def __init__(self, sentence: str, epoch: str = "") -> None:
        super().__init__(sentence)
        self.epoch = epoch


@dataclass(frozen=True, slots=True)
class Message:
    """What a signature covers. ``path`` is the path with its query, exactly as it travels."""

    method: str
    path: str
    body: bytes = b""


def node_key(master: bytes, node: str) -> bytes:
    """Return the key of one node: 32 bytes. ValueError for a master shorter than 16 bytes."""
    if len(master) < 16:
        raise ValueError(f"master key: {len(master)} bytes found, at least 16 wanted")
    return hmac.digest(master, node.encode(), "sha256")


def pod_key(master: bytes, node: str, uid: str) -> bytes:
    """Return the key of one test pod on a node: 32 bytes, of no use to any other pod nor to the node's agent."""
    # No name of a node has a NUL, so no node's key is that of a pod.
    return node_key(master, f"pod\0{node}\0{uid}")


def sign(key: bytes, message: Message, now: float, *, epoch: str = "", nonce: str = "") -> str:
    """Return the Authorization header's value for a request sent at ``now`` (Unix seconds) to the node of ``epoch``."""
    signed = f"{int(now)}:{nonce or secrets.token_hex(16)}:{epoch}"
    return f"{SCHEME} {signed}:{_mac(key, message, signed)}"


class Verifier:
    """Accepts each request signed for this life of the node once, within SKEW_LIMIT_SECONDS of its clock."""

    def __init__(self, key: bytes, clock: Callable[[], float]) -> None:
        self.epoch = secrets.token_hex(8)
        self._key = key
        self._clock = clock
        self._nonces: dict[str, float] = {}

    def check(self, header: str, message: Message) -> None:
        """Raise Unauthorized unless the header is a fresh signature, by our key, of this message."""
        try:
            self._check(header, message)
        except Unauthorized as error:
            error.epoch = self.epoch
            raise

    def _check(self, header: str, message: Message) -> None:
        signature = _parts(header)
        if not hmac.compare_digest(signature.mac.encode(), _mac(self._key, message, signature.signed).encode()):
            raise Unauthorized("signature: made with another key or for another request, this node's key wanted")
        if signature.epoch != self.epoch:
            raise Unauthorized("epoch: a signature for another life of this node found, one for this life wanted")
        skew_seconds = abs(self._clock() - signature.at)
        if skew_seconds > SKEW_LIMIT_SECONDS:
            raise Unauthorized(f"clock: {skew_seconds:.0f} s apart, at most {SKEW_LIMIT_SECONDS:.0f} s wanted")
        self._remember(signature.nonce)

    def _remember(self, nonce: str) -> None:
        now = self._clock()
        if nonce in self._nonces:
            raise Unauthorized("nonce: seen before, a new one wanted")
        if len(self._nonces) >= NONCES_KEPT:
            self._forget_old(now)
        self._nonces[nonce] = now

    def _forget_old(self, now: float) -> None:
        # A signature stays acceptable for the skew on both sides of our clock, so its nonce is kept as long.
        self._nonces = {old: at for old, at in self._nonces.items() if abs(now - at) <= 2 * SKEW_LIMIT_SECONDS}
        if len(self._nonces) >= NONCES_KEPT:
            raise Unauthorized(f"requests: over {NONCES_KEPT} in {2 * SKEW_LIMIT_SECONDS:.0f} s, fewer wanted")


@dataclass(frozen=True, slots=True)
class _Signature:
    signed: str
    at: int
    nonce: str
    epoch: str
    mac: str


def _parts(header: str) -> _Signature:
    scheme, _, rest = header.partition(" ")
    parts = rest.split(":")
    if scheme != SCHEME or len(parts) != 4 or not parts[0].isascii() or not parts[0].isdigit() or not parts[1]:
        raise Unauthorized(f"Authorization: none of ours found, '{SCHEME} <unix time>:<nonce>:<epoch>:<mac>' wanted")
    at, nonce, epoch, mac = parts
    if len(at) > 12 or len(nonce) > 64 or len(epoch) > 64:
        raise Unauthorized("Authorization: longer than any of ours, a signed request wanted")
    return _Signature(rest.rpartition(":")[0], int(at), nonce, epoch, mac)


def _mac(key: bytes, message: Message, signed: str) -> str:
    digest = hashlib.sha256(message.body).hexdigest()
    covered = "\n".join((message.method.upper(), message.path, digest, signed))
    return hmac.digest(key, covered.encode(), "sha256").hex()
