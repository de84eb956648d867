"""Objects that are got by name, again and again: the ConfigMaps that plugins mount, the namespaces of test pods.

Listing them would show all of a namespace's, or all of the cluster's.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Generic, TypeVar

import msgspec

from exporter.clock import Clock
from exporter.cluster.connection import Connection
from exporter.cluster.errors import ApiRefusal, ApiUnreachable, Expired
from exporter.cluster.read.others import read_config_map, read_namespace
from exporter.cluster.wire import config_maps, namespaces
from probes._cluster import PodSecurity, Unread
from probes._workloads import ConfigMap

F = TypeVar("F")

EVERY_SECONDS = 30.0

_log = logging.getLogger(__name__)

Name = tuple[str, str]


@dataclass(frozen=True)
class NamedKind(Generic[F]):
    """What is got: ``path`` takes namespace and name, ``read`` makes a fact of what ``wire`` decodes."""

    resource: str
    path: str
    wire: type[Any]
    read: Callable[[Any], F]


CONFIG_MAPS = NamedKind[ConfigMap](
    "configmaps", "/api/v1/namespaces/{}/configmaps/{}", config_maps.ConfigMap, read_config_map
)
# A namespace counts as within itself, so that a Role there may allow it.
NAMESPACES = NamedKind[PodSecurity]("namespaces", "/api/v1/namespaces/{}", namespaces.Namespace, read_namespace)


class NamedObjects(Generic[F]):
    """Those that are wanted, by namespace and name; one that is not there is simply not among ``found``."""

    def __init__(self, connection: Connection, kind: NamedKind[F], clock: Clock, changed: Callable[[], None]) -> None:
        self._connection = connection
        self._kind = kind
        self._decoder = msgspec.json.Decoder(kind.wire)
        self._clock = clock
        self._changed = changed
        self._wanted: frozenset[Name] = frozenset()
        self._found: dict[Name, F] = {}
        self._unread: dict[Name, Unread] = {}
        self._asked: set[Name] = set()
        self._heard: dict[Name, float] = {}
        self._wake = asyncio.Event()

    @property
    def found(self) -> Mapping[Name, F]:
        """What was read, as of a short while ago."""
        return MappingProxyType(self._found)

    @property
    def settled(self) -> bool:
        """Whether every one that is wanted was asked for."""
        return self._wanted <= self._asked

    def unread(self, limit_seconds: float) -> tuple[Unread, ...]:
        """Return what could not be read, or was not confirmed for ``limit_seconds``."""
        now = self._clock.monotonic()
        said = (self._unread[name] for name in sorted(self._unread) if self._counts(name, now - limit_seconds))
        return tuple(dict.fromkeys(said))

    def want(self, names: Iterable[Name]) -> None:
        """Read these from now on, at once if they are others than before."""
        wanted = frozenset(names)
        if wanted != self._wanted:
            self._wanted = wanted
            self.reread()

    def reread(self) -> None:
        """Read all of them again, now."""
        self._wake.set()

    async def run(self) -> None:
        """Read until cancelled."""
        while True:
            self._wake.clear()
            before = dict(self._found), dict(self._unread), self.settled
            await self._read_all(self._wanted)
            if before != (self._found, self._unread, self.settled):
                self._changed()
            await self._clock.wait(self._wake, EVERY_SECONDS)

    async def _read_all(self, wanted: frozenset[Name]) -> None:
        for kept in (self._found, self._unread):
            for name in kept.keys() - wanted:
                kept.pop(name)
        for name in sorted(wanted):
            await self._read(name)
            self._asked.add(name)

    async def _read(self, name: Name) -> None:
        try:
            body = await self._connection.get(self._kind.path.format(*name))
            self._found[name] = self._kind.read(self._decoder.decode(body))
        except ApiRefusal as refused:
            if refused.status == 404:
                self._found.pop(name, None)
            else:
                denied = refused.status == 403
                self._failed(name, "rbac_denied" if denied else "api_unreachable", refused.message)
                return
        except (ApiUnreachable, Expired, msgspec.DecodeError) as error:
            self._failed(name, "api_unreachable", str(error))
            return
        self._unread.pop(name, None)
        self._heard[name] = self._clock.monotonic()

    def _failed(self, name: Name, reason: str, message: str) -> None:
        if name not in self._unread:
            _log.warning("kubernetes: get %s %s/%s: %s", self._kind.resource, *name, message)
        self._unread[name] = Unread(self._kind.resource, "get", reason, message, name[0])

    def _counts(self, name: Name, oldest: float) -> bool:
        # What was read is still true while the API is gone for a moment; what is forbidden is not.
        return self._unread[name].reason == "rbac_denied" or self._heard.get(name, oldest) <= oldest
