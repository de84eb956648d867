"""A node's parts of collective bursts: started only as the guard admits, and only with ranks of planned members."""

import asyncio
import socket
from collections.abc import Callable, Iterable
from dataclasses import replace
from urllib.parse import urlsplit

from exporter.assignment import Assignment, Member
from exporter.demands import Loads
from exporter.fabric.running import Running, Sleep
from exporter.fabric.wire import BurstStarted
from exporter.guard import Guard
from exporter.unique_id import canonical
from probes._endpoint import Ended
from probes._group import BurstOutcome, BurstRequest, GroupEndpoint


class RunningBursts:
    """What the HTTP handlers of /v1/bursts, and a gate in the same process, start bursts through.

    ``endpoint`` makes a fresh local endpoint; ``loads`` measures every planned port.
    """

    def __init__(
        self,
        guard: Guard,
        assignment: Callable[[], Assignment | None],
        endpoint: Callable[[], GroupEndpoint],
        loads: Loads,
    ) -> None:
        self.guard = guard
        self.running = Running(guard, _told)
        self._assignment = assignment
        self._endpoint = endpoint
        self._loads = loads

    async def start(self, burst: BurstRequest, lease: str) -> BurstStarted:
        """Admit and start this node's ranks in a slot that is held. Raises Refused or ProbeError."""
        self.guard.heard()
        addresses = await self._addresses(burst) if burst.unique_id else frozenset()
        note = await self.guard.admit_burst(burst, lease, addresses, self._loads)
        endpoint = self._endpoint()
        return BurstStarted(*await self.running.begin(endpoint, endpoint.start(burst), lease=lease, note=note))

    async def wait(self, name: str, limit_seconds: float) -> BurstOutcome | None:
        """Return the outcome, or None when ranks still run after the limit. KeyError for an unknown id."""
        return await self.running.wait(name, limit_seconds)

    async def stop(self, name: str) -> None:
        """End one burst now; an unknown or finished one is left as it is."""
        await self.running.stop(name)

    async def supervise(self, sleep: Sleep = asyncio.sleep) -> None:
        """Until cancelled, end what runs as soon as the guard says that it must; ends all when cancelled."""
        await self.running.supervise(sleep)

    async def _addresses(self, burst: BurstRequest) -> frozenset[str]:
        assignment = self._assignment()
        members = assignment.members if assignment else ()
        return await known_addresses(member for member in members if member.name in burst.members)


async def known_addresses(members: Iterable[Member]) -> frozenset[str]:
    """Return the test and management addresses of those members; a name that leads nowhere has none."""
    named = {host for member in members for host in (urlsplit(member.url).hostname, *member.addresses.values()) if host}
    found = await asyncio.gather(*map(_resolved, named))
    return frozenset(address for addresses in found for address in addresses)


async def _resolved(host: str) -> list[str]:
    try:
        return [canonical(host)]
    except ValueError:
        pass
    try:
        answers = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError:
        return []
    return [canonical(str(answer[4][0])) for answer in answers]


def _told(outcome: BurstOutcome, note: str, stopped_for: str) -> BurstOutcome:
    detail = outcome.detail + note
    if any(rank.ended is Ended.STOPPED for rank in outcome.ranks):
        detail = stopped_for or detail
    return replace(outcome, detail=detail)
