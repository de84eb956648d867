"""The ends of path tests that run on this node: started only as the guard admits."""

import asyncio
from collections.abc import Callable
from dataclasses import replace

from exporter.fabric.running import Running, Sleep
from exporter.fabric.wire import Started
from exporter.guard import Guard
from probes._endpoint import Ended, Endpoint, Outcome, TestRequest


class RunningTests:
    """What the HTTP handlers of /v1/tests, and a gate in the same process, start tests through.

    ``endpoint_for`` makes a fresh local endpoint for the name of a planned HCA.
    """

    def __init__(self, guard: Guard, endpoint_for: Callable[[str], Endpoint]) -> None:
        self.guard = guard
        self.running = Running(guard, _told)
        self._endpoint_for = endpoint_for

    async def start(self, request: TestRequest, lease: str) -> Started:
        """Admit and start one end in a slot that is held; it is ready on return. Raises Refused or ProbeError."""
        self.guard.heard()
        note = await self.guard.admit(request, lease)
        endpoint = self._endpoint_for(request.hca)
        return Started(*await self.running.begin(endpoint, endpoint.start(request), lease=lease, note=note))

    async def wait(self, name: str, limit_seconds: float) -> Outcome | None:
        """Return the outcome, or None when the test still runs after the limit. KeyError for an unknown id."""
        return await self.running.wait(name, limit_seconds)

    async def stop(self, name: str) -> None:
        """End one test now; an unknown or finished one is left as it is."""
        await self.running.stop(name)

    async def supervise(self, sleep: Sleep = asyncio.sleep) -> None:
        """Until cancelled, end what runs as soon as the guard says that it must; ends all when cancelled."""
        await self.running.supervise(sleep)


def _told(outcome: Outcome, note: str, stopped_for: str) -> Outcome:
    detail = outcome.detail + note
    if outcome.ended is Ended.STOPPED:
        detail = stopped_for or detail
    return replace(outcome, detail=detail)
