"""Requests to one node's management interface: signed with that node's key, and never without a deadline."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

import aiohttp

from exporter.keys import Message, sign
from probes._endpoint import Unreachable


@dataclass(frozen=True, slots=True)
class Address:
    """Where a node's management interface is, and the key that its requests are signed with (empty: unsigned)."""

    node: str
    url: str
    key: bytes = b""


@dataclass(frozen=True, slots=True)
class Answer:
    """Status and body of one HTTP answer."""

    status: int
    body: bytes


class NodeClient:
    """Asks one node. ``clock`` gives Unix seconds; the session is shared and stays the caller's."""

    def __init__(self, session: aiohttp.ClientSession, address: Address, clock: Callable[[], float]) -> None:
        self.node = address.node
        self._session = session
        self._address = address
        self._clock = clock

    async def ask(
        self, method: str, path: str, body: bytes = b"", *, limit_seconds: float, limit_bytes: int = 8 << 20
    ) -> Answer:
        """Return the answer, whatever its status. Raises Unreachable: no answer in time, or one over the limit."""
        headers = {"Content-Type": "application/json"}
        if self._address.key:
            headers["Authorization"] = sign(self._address.key, Message(method, path, body), self._clock())
        url = self._address.url.rstrip("/") + path
        try:
            async with asyncio.timeout(limit_seconds):
                async with self._session.request(
                    method, url, data=body, headers=headers, allow_redirects=False
                ) as response:
                    return Answer(response.status, await self._read(response, limit_bytes))
        except TimeoutError as error:
            raise Unreachable(
                f"{self.node}: no answer to {method} {path} in {limit_seconds:g} s, one wanted"
            ) from error
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise Unreachable(f"{self.node}: {method} {path} failed ({error}), an answer wanted") from error

    async def _read(self, response: aiohttp.ClientResponse, limit_bytes: int) -> bytes:
        body = bytearray()
        async for chunk in response.content.iter_chunked(65536):
            body += chunk
            if len(body) > limit_bytes:
                raise Unreachable(f"{self.node}: answer over {limit_bytes} bytes found, a shorter one wanted")
        return bytes(body)
