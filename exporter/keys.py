"""Only the gate can drive a node, and one node cannot drive another: each has a key of its own, made from the master.

A request carries ``Authorization: RDMA-Gate <unix time>:<nonce>:<mac>``, where the mac is the hex HMAC-SHA256 by the
node's key over method, path with query, SHA-256 of the body, time and nonce. Keys and macs are never logged.
"""

import hashlib
import hmac
import secrets
from collections.abc import Callable
from dataclasses import dataclass

SCHEME = "RDMA-Gate"
SKEW_LIMIT_SECONDS = 300.0
NONCES_KEPT = 65536


class Unauthorized(Exception):
    """The request is not the gate's; the sentence says what was found and what was wanted."""


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


def sign(key: bytes, message: Message, now: float, *, nonce: str = "") -> str:
    """Return the Authorization header's value for a request sent at ``now`` (Unix seconds)."""
    at, nonce = str(int(now)), nonce or secrets.token_hex(16)
    return f"{SCHEME} {at}:{nonce}:{_mac(key, message, at, nonce)}"


class Verifier:
    """Accepts each signed request once, within SKEW_LIMIT_SECONDS of this machine's clock (Unix seconds)."""

    def __init__(self, key: bytes, clock: Callable[[], float]) -> None:
        self._key = key
        self._clock = clock
        self._nonces: dict[str, float] = {}

    def check(self, header: str, message: Message) -> None:
        """Raise Unauthorized unless the header is a fresh signature, by our key, of this message."""
        at, nonce, mac = _parts(header)
        if not hmac.compare_digest(mac.encode(), _mac(self._key, message, at, nonce).encode()):
            raise Unauthorized("signature: made with another key or for another request, this node's key wanted")
        skew_seconds = abs(self._clock() - int(at))
        if skew_seconds > SKEW_LIMIT_SECONDS:
            raise Unauthorized(f"clock: {skew_seconds:.0f} s apart, at most {SKEW_LIMIT_SECONDS:.0f} s wanted")
        self._remember(nonce)

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


def _parts(header: str) -> tuple[str, str, str]:
    scheme, _, rest = header.partition(" ")
    parts = rest.split(":")
    if scheme != SCHEME or len(parts) != 3 or not parts[0].isascii() or not parts[0].isdigit() or not parts[1]:
        raise Unauthorized(f"Authorization: none of ours found, '{SCHEME} <unix time>:<nonce>:<mac>' wanted")
    if len(parts[0]) > 12 or len(parts[1]) > 64:
        raise Unauthorized("Authorization: longer than any of ours, a signed request wanted")
    return parts[0], parts[1], parts[2]


def _mac(key: bytes, message: Message, at: str, nonce: str) -> str:
    digest = hashlib.sha256(message.body).hexdigest()
    covered = "\n".join((message.method.upper(), message.path, digest, at, nonce))
    return hmac.digest(key, covered.encode(), "sha256").hex()
