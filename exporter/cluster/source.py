"""One list of the API: which kind, in which namespace, with which labels; and how it is paged through and watched."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import msgspec

from exporter.cluster.connection import Connection
from exporter.cluster.errors import ApiRefusal, Expired, status_of
from exporter.cluster.kinds import Kind
from exporter.cluster.wire.meta import Page, WatchLine

F = TypeVar("F")

GRACE_SECONDS = 15.0
OBJECTS_AT_ONCE = 20
_page = msgspec.json.Decoder(Page)
_line = msgspec.json.Decoder(WatchLine)
_group = msgspec.json.Decoder(dict[str, Any])


@dataclass(frozen=True)
class Source(Generic[F]):
    """``namespace`` empty is the whole cluster; ``labels`` is a label selector as in a query."""

    kind: Kind[F]
    namespace: str = ""
    labels: str = ""

    def __str__(self) -> str:
        return " ".join(part for part in (self.kind.resource, self.namespace, self.labels) if part)

    def path(self, version: str) -> str:
        """Return the path in that version of the API."""
        place = f"/namespaces/{self.namespace}" if self.namespace else ""
        return f"{version}{place}/{self.kind.plural}"

    @property
    def query(self) -> dict[str, str]:
        """What every request says."""
        return {"labelSelector": self.labels} if self.labels else {}


async def served_version(connection: Connection, kind: Kind[Any]) -> str:
    """Return the best version in which the API has this kind; empty where it has none.

    Whoever may log in may ask this, whereas a list that is not there is refused like one that is forbidden.
    """
    for version in kind.versions:
        try:
            resources = _group.decode(await connection.get(version)).get("resources") or ()
        except ApiRefusal as error:
            if error.status == 404:
                continue
            raise
        if any(one.get("name") == kind.plural for one in resources):
            return version
    return ""


async def list_all(connection: Connection, source: Source[Any], version: str, take: Callable[[Any], None]) -> str:
    """Hand each object, decoded, to ``take``, page by page; return the version of the list. Raises as a connection."""
    decoder = msgspec.json.Decoder(source.kind.wire)
    more, path = "", source.path(version)
    while True:
        query = {**source.query, "limit": str(source.kind.page), **({"continue": more} if more else {})}
        page = _page.decode(await connection.get(path, query))
        for number, raw in enumerate(page.items or ()):
            if number % OBJECTS_AT_ONCE == 0:
                await asyncio.sleep(0)
            take(decoder.decode(raw))
        more = page.metadata.more
        if not more:
            return page.metadata.resource_version


async def watch_lines(
    connection: Connection, source: Source[Any], version: str, since: str, seconds: int
) -> AsyncGenerator[WatchLine | None, None]:
    """Yield None once the server agrees to be watched, then what happens after version ``since``.

    It takes about ``seconds``; an ERROR raises Expired or ApiRefusal.
    """
    query = {
        **source.query,
        "watch": "1",
        "allowWatchBookmarks": "true",
        "resourceVersion": since,
        "timeoutSeconds": str(seconds),
    }
    pieces = connection.stream(source.path(version), query, seconds + GRACE_SECONDS)
    async with aclosing(pieces), aclosing(_lines(pieces)) as lines:
        await anext(pieces)
        yield None
        async for line in lines:
            said = _line.decode(line)
            if said.type == "ERROR":
                status = status_of(said.object)
                raise Expired(status.message) if status.code == 410 else ApiRefusal(status.code, status.message)
            yield said


async def _lines(pieces: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
    rest = bytearray()
    async for piece in pieces:
        rest += piece
        if b"\n" not in piece:
            continue
        *whole, last = bytes(rest).split(b"\n")
        rest = bytearray(last)
        for number, line in enumerate(whole):
            if number % OBJECTS_AT_ONCE == OBJECTS_AT_ONCE - 1:
                await asyncio.sleep(0)
            if line.strip():
                yield line
