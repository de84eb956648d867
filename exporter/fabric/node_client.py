"""Requests to one node's management interface: signed with that node's key, and never without a deadline."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus

import aiohttp

from exporter.keys import EPOCH_HEADER, Message, sign
from probes._endpoint import Unreachable


@dataclass(frozen=True, slots=True)
class Address:
    """Where a node's management interface is, and the key that its requests are signed with (empty: unsigned)."""

    node: str
    url: str
    key: bytes = b""


@dataclass(frozen=True, slots=True)
class Answer:
    """Status and body of one HTTP answer; ``epoch`` is what a request that was refused had to be signed for."""

    status: int
    body: bytes
    epoch: str = ""


class NodeClient:
    """Asks one node. ``clock`` gives Unix seconds; the session is shared and stays the caller's."""

    def __init__(self, session: aiohttp.ClientSession, address: Address, clock: Callable[[], float]) -> None:
        self.node = address.node
        self._session = session
        self._address = address
        self._clock = clock
        self._epoch = ""

    async def ask(
        self, method: str, path: str, body: bytes = b"", *, limit_seconds: float, limit_bytes: int = 8 << 20
    ) -> Answer:
        """Return the answer, whatever its status. Raises Unreachable: no answer in time, or one over the limit."""
        message = Message(method, path, body)
        try:
            async with asyncio.timeout(limit_seconds):
                answer = await self._send(message, limit_bytes)
                if answer.status == HTTPStatus.UNAUTHORIZED and answer.epoch not in ("", self._epoch):
                    # The node has begun a new life since, or this is the first that is asked of it.
                    self._epoch = answer.epoch
                    answer = await self._send(message, limit_bytes)
                return answer
        except TimeoutError as error:
            raise Unreachable(
                f"{self.node}: no answer to {method} {path} in {limit_seconds:g} s, one wanted"
            ) from error
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise Unreachable(f"{self.node}: {method} {path} failed ({error}), an answer wanted") from error

    async def _send(self, message: Message, limit_bytes: int) -> Answer:
        headers = {"Content-Type": "application/json"}
        if self._address.key:
            headers["Authorization"] = sign(self._address.key, message, self._clock(), epoch=self._epoch)
        url = self._address.url.rstrip("/") + message.path
        async with self._session.request(
            message.method, url, data=message.body, headers=headers, allow_redirects=False
        ) as response:
            body = await self._read(response, limit_bytes)
            return Answer(response.status, body, response.headers.get(EPOCH_HEADER, ""))

    async def _read(self, response: aiohttp.ClientResponse, limit_bytes: int) -> bytes:
        body = bytearray()
        async for chunk in response.content.iter_chunked(65536):
            body += chunk
            if len(body) > limit_bytes:
                raise Unreachable(f"{self.node}: answer over {limit_bytes} bytes found, a shorter one wanted")
        return bytes(body)
