"""One way to the API: configuration and transport of the ``kubernetes`` package, answers as bytes nobody decoded yet.

Decoding whole answers into its models stalls the loop for seconds with 1,000 nodes, so only its transport is used.
A 401 has the credentials read again (a rotated token, an expired exec plugin's) and the request tried once more; so
does a certificate that no longer fits the CA.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlencode

import aiohttp

from exporter import __version__
from exporter.cluster.errors import ApiUnreachable, refusal

CONNECT_SECONDS = 5.0
REQUEST_SECONDS = 30.0
RELOAD_GAP_SECONDS = 5.0
CHUNK_BYTES = 1 << 18
JSON = "application/json"
STRATEGIC_MERGE = "application/strategic-merge-patch+json"

Configure = Callable[[], Awaitable[Any]]


class Connection:
    """Requests to one API server.

    ``configure`` returns a new Configuration each time, credentials read anew, or raises ApiUnreachable.
    """

    def __init__(self, configure: Configure, monotonic: Callable[[], float]) -> None:
        self._configure = configure
        self._monotonic = monotonic
        self._configuration: Any = None
        self._transport: Any = None
        self._loaded = float("-inf")
        self._loading = asyncio.Lock()

    async def get(self, path: str, query: Mapping[str, str] | None = None) -> bytes:
        """Return the body. ApiRefusal, Expired or ApiUnreachable."""
        return await self.send("GET", path, query=query)

    async def send(
        self, method: str, path: str, body: Any = None, *, query: Mapping[str, str] | None = None, limit: float = 0.0
    ) -> bytes:
        """Return the answer's body; ``body`` is sent as JSON, by PATCH as a strategic merge. ``limit`` is in seconds.

        Raises as ``get``.
        """
        seconds = limit or REQUEST_SECONDS
        async with self._answer(method, _url(path, query), body, seconds) as response:
            return await response.read()

    async def stream(self, path: str, query: Mapping[str, str], limit_seconds: float) -> AsyncGenerator[bytes, None]:
        """Yield an empty piece once the server agrees, then the body as it comes, in small pieces.

        For at most ``limit_seconds``. Raises as ``get``.
        """
        async with self._answer("GET", _url(path, query), None, limit_seconds) as response:
            yield b""
            while piece := await response.content.read(CHUNK_BYTES):
                yield piece
                # What is buffered is handed out without waiting, and others want the loop too.
                await asyncio.sleep(0)

    async def close(self) -> None:
        """Close every connection."""
        transport, self._transport = self._transport, None
        if transport is not None:
            await transport.close()

    @asynccontextmanager
    async def _answer(self, method: str, url: str, body: Any, seconds: float) -> AsyncIterator[aiohttp.ClientResponse]:
        try:
            response = await self._request(method, url, body, seconds)
            async with response:
                if response.status >= 300:
                    raise refusal(response.status, await response.read(), response.headers.get("Retry-After", ""))
                yield response
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise ApiUnreachable(f"{type(error).__name__}: {error}".rstrip(": ")) from error

    async def _request(self, method: str, url: str, body: Any, seconds: float) -> aiohttp.ClientResponse:
        used = await self._ready()
        try:
            response = await self._attempt(method, url, body, seconds)
        except aiohttp.ClientConnectorCertificateError:
            await self._reload(used)
            raise
        if response.status != 401:
            return response
        response.release()
        await self._reload(used)
        return await self._attempt(method, url, body, seconds)

    async def _attempt(self, method: str, url: str, body: Any, seconds: float) -> aiohttp.ClientResponse:
        headers = {"Accept": JSON, "Accept-Encoding": "identity", "User-Agent": f"rdma-gate/{__version__}"}
        if method == "PATCH":
            headers["Content-Type"] = STRATEGIC_MERGE
        auth = await self._configuration.auth_settings()
        if "BearerToken" in auth:
            headers["Authorization"] = auth["BearerToken"]["value"]
        timeout = aiohttp.ClientTimeout(total=seconds, sock_connect=CONNECT_SECONDS)
        transport, address = self._transport, f"{self._configuration.host}{url}"
        answer = await transport.request(method, address, headers=headers, body=body, _request_timeout=timeout)
        return answer.response  # type: ignore[no-any-return]

    async def _ready(self) -> Any:
        """Return the transport that is in use, which tells one that was replaced meanwhile."""
        if self._transport is None:
            await self._reload(None)
        return self._transport

    async def _reload(self, used: Any) -> None:
        async with self._loading:
            if self._transport is not used or self._monotonic() - self._loaded < RELOAD_GAP_SECONDS:
                return
            configuration = await self._configure()
            # Reading the system's authorities takes some 40 ms.
            transport = await asyncio.to_thread(_transport, configuration)
            old, self._configuration, self._transport = self._transport, configuration, transport
            self._loaded = self._monotonic()
            if old is not None:
                await old.close()


def _transport(configuration: Any) -> Any:
    from kubernetes.aio.client.rest import RESTClientObject

    return RESTClientObject(configuration)


def _url(path: str, query: Mapping[str, str] | None) -> str:
    return f"{path}?{urlencode(query)}" if query else path
