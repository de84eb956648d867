"""One list is kept as the API has it: listed once, then watched, and listed anew only when its version has expired.

Nothing that was read is thrown away because the API fails: it grows old, and says so. What was refused is asked for
again, slowly, so a permission that is granted takes effect by itself.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from contextlib import aclosing
from random import randint
from types import MappingProxyType
from typing import Any, Generic, TypeVar

import msgspec

from exporter.clock import Clock
from exporter.cluster.backoff import Backoff
from exporter.cluster.connection import Connection
from exporter.cluster.errors import ApiRefusal, ApiUnreachable, Expired
from exporter.cluster.source import Source, list_all, served_version, watch_lines
from exporter.cluster.wire.meta import Versioned, WatchLine
from probes._cluster import Unread

F = TypeVar("F")

WATCH_SECONDS = (45, 75)
ABSENT_SECONDS = 60.0
SHORT_SECONDS = 1.0
LIST_ANEW_AFTER_FAILURES = 5

_log = logging.getLogger(__name__)
_versioned = msgspec.json.Decoder(Versioned)


class Reflector(Generic[F]):
    """Keeps one source. ``changed`` is called when a fact is other than before, or becomes readable or unreadable."""

    def __init__(
        self,
        connection: Connection,
        source: Source[F],
        clock: Clock,
        changed: Callable[[], None],
        backoff: Backoff | None = None,
    ) -> None:
        self.source = source
        self.synced = False
        self.absent = False
        self.restarts = 0
        self.relists = 0
        self.edition = 0
        self._connection = connection
        self._clock = clock
        self._changed = changed
        self._backoff = backoff or Backoff()
        self._decoder = msgspec.json.Decoder(source.kind.wire)
        self._items: dict[str, F] = {}
        self._served = "" if source.kind.optional else source.kind.versions[0]
        self._since = ""
        self._verb = "list"
        self._denied = ""
        self._problem = ""
        self._heard = clock.monotonic()

    @property
    def items(self) -> Mapping[str, F]:
        """The facts by "namespace/name", as last read."""
        return MappingProxyType(self._items)

    @property
    def settled(self) -> bool:
        """Whether it is known what there is, or why it is not."""
        return self.synced or self.absent or bool(self._denied or self._problem)

    @property
    def age_seconds(self) -> float:
        """How long the API has said nothing about this list; an idle watch speaks every minute or so."""
        return self._clock.monotonic() - self._heard

    def unread(self, limit_seconds: float) -> Unread | None:
        """Return why the facts cannot be relied on: refused, never read, or not confirmed for ``limit_seconds``."""
        kind, namespace = self.source.kind, self.source.namespace
        if self._denied:
            return Unread(kind.resource, self._verb, "rbac_denied", self._denied, namespace)
        if self.absent or (self.synced and self.age_seconds <= limit_seconds):
            return None
        return Unread(kind.resource, self._verb, "api_unreachable", self._problem or "no answer yet", namespace)

    async def run(self) -> None:
        """Keep it until cancelled."""
        while True:
            await self._clock.wait(asyncio.Event(), await self._round())

    async def _round(self) -> float:
        """List where that is needed, watch until the watch ends; return how long to wait before the next round."""
        try:
            if not self._served:
                self._served = await served_version(self._connection, self.source.kind)
            if not self._served:
                return self._not_there()
            if not self._since:
                await self._list()
            return await self._watch()
        except Expired as expired:
            return self._list_anew(str(expired))
        except ApiRefusal as refused:
            return self._refused(refused)
        except (ApiUnreachable, msgspec.DecodeError) as error:
            return self._failed(str(error))

    async def _list(self) -> None:
        self._verb = "list"
        found: dict[str, F] = {}
        version = await list_all(self._connection, self.source, self._served, lambda one: self._take(found, one))
        self.relists += self.synced
        is_news = not self.synced or found != self._items
        self._items, self._since, self.synced, self.absent = found, version, True, False
        self._listened(is_news=is_news)

    async def _watch(self) -> float:
        self._verb = "watch"
        started = self._clock.monotonic()
        lines = watch_lines(self._connection, self.source, self._served, self._since, randint(*WATCH_SECONDS))  # noqa: S311
        async with aclosing(lines):
            async for line in lines:
                if line is None:
                    self._granted()
                    continue
                self._listened(is_news=self._apply(line))
                started = float("-inf")
        self._heard = self._clock.monotonic()
        if self._heard - started < SHORT_SECONDS:
            return self._failed("a watch that ended at once")
        return 0.0

    def _granted(self) -> None:
        """A watch that was refused is allowed now; where nothing happens no line may ever say so."""
        if self._denied:
            self._listened(is_news=True)

    def _apply(self, line: WatchLine) -> bool:
        if line.type == "BOOKMARK":
            self._since = _versioned.decode(line.object).metadata.resource_version
            return False
        one = self._decoder.decode(line.object)
        self._since = one.metadata.resource_version or self._since
        key = _key(one)
        before = self._items.get(key)
        if line.type == "DELETED":
            return self._items.pop(key, None) is not None
        self._take(self._items, one)
        return self._items[key] != before

    def _take(self, into: dict[str, F], one: Any) -> None:
        key = _key(one)
        into[key] = self.source.kind.read(one, self._items.get(key), self._clock.now())

    def _listened(self, *, is_news: bool) -> None:
        self._heard = self._clock.monotonic()
        is_news |= bool(self._denied)
        if self._denied or self._problem:
            _log.info("kubernetes: %s is read again", self.source)
        self._denied = self._problem = ""
        self._backoff.succeeded()
        if is_news:
            self._tell()

    def _tell(self) -> None:
        self.edition += 1
        self._changed()

    def _not_there(self) -> float:
        if not self.absent or self._items:
            self._items, self.synced, self.absent, self._since = {}, False, True, ""
            self._listened(is_news=True)
        self._heard = self._clock.monotonic()
        return ABSENT_SECONDS

    def _list_anew(self, why: str) -> float:
        self._since = ""
        self.restarts += 1
        _log.debug("kubernetes: %s, %s; listed anew", self.source, why)
        return self._backoff.after_failure()

    def _refused(self, refused: ApiRefusal) -> float:
        if refused.status == 404 and self.source.kind.optional:
            self._served = self._since = ""
            return self._failed(str(refused))
        if refused.status != 403:
            return self._failed(str(refused), refused.retry_after_seconds)
        if not self._denied:
            self._denied = refused.message
            _log.warning("kubernetes: %s %s: %s", self._verb, self.source, refused.message)
            self._tell()
        return self._backoff.after_failure()

    def _failed(self, problem: str, retry_after_seconds: float = 0.0) -> float:
        if not self._problem:
            _log.warning("kubernetes: %s %s: %s, an answer wanted", self._verb, self.source, problem)
        is_first = not self.settled
        self._problem = problem
        if is_first:
            self._tell()
        self.restarts += 1
        seconds = self._backoff.after_failure(retry_after_seconds)
        if self._backoff.failures >= LIST_ANEW_AFTER_FAILURES:
            # A version from before the API's store was restored would never be served.
            self._since = ""
        return seconds


def _key(one: Any) -> str:
    return f"{one.metadata.namespace}/{one.metadata.name}"
