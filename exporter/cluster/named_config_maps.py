"""The ConfigMaps that plugins mount are got by name, again and again: listing them would show all of a namespace's."""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

import msgspec

from exporter.clock import Clock
from exporter.cluster.connection import Connection
from exporter.cluster.errors import ApiRefusal, ApiUnreachable, Expired
from exporter.cluster.read.others import read_config_map
from exporter.cluster.wire import config_maps
from probes._cluster import Unread
from probes._workloads import ConfigMap

EVERY_SECONDS = 30.0
RESOURCE = "configmaps"

_log = logging.getLogger(__name__)
_decoder = msgspec.json.Decoder(config_maps.ConfigMap)

Name = tuple[str, str]


class NamedConfigMaps:
    """Those that are wanted, by namespace and name; one that is not there is simply not among ``found``."""

    def __init__(self, connection: Connection, clock: Clock, changed: Callable[[], None]) -> None:
        self._connection = connection
        self._clock = clock
        self._changed = changed
        self._wanted: frozenset[Name] = frozenset()
        self._found: dict[Name, ConfigMap] = {}
        self._unread: dict[Name, Unread] = {}
        self._asked: set[Name] = set()
        self._heard: dict[Name, float] = {}
        self._wake = asyncio.Event()

    @property
    def found(self) -> Mapping[Name, ConfigMap]:
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
            body = await self._connection.get("/api/v1/namespaces/{}/configmaps/{}".format(*name))
            self._found[name] = read_config_map(_decoder.decode(body))
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
            _log.warning("kubernetes: get configmap %s/%s: %s", *name, message)
        self._unread[name] = Unread(RESOURCE, "get", reason, message, name[0])

    def _counts(self, name: Name, oldest: float) -> bool:
        # What was read is still true while the API is gone for a moment; what is forbidden is not.
        return self._unread[name].reason == "rbac_denied" or self._heard.get(name, oldest) <= oldest
