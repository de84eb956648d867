"""The tests that run on this node: started only as the guard admits, ended when paused or when the gate is lost.

Each one is an endpoint of its own under a random id. Its outcome is kept until it was superseded by KEPT_OUTCOMES
later ones, so that the gate may ask for it again.
"""

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from exporter.fabric.wire import Started
from exporter.guard import Guard
from probes._endpoint import Ended, Endpoint, Outcome, Refused, TestRequest

KEPT_OUTCOMES = 64
WATCH_SECONDS = 0.25

Sleep = Callable[[float], Awaitable[None]]


@dataclass(slots=True)
class _Test:
    lease: str
    endpoint: Endpoint
    task: asyncio.Task[Outcome]
    stopped_for: str = ""


class RunningTests:
    """What the HTTP handlers of /v1/tests, and a gate in the same process, start tests through.

    ``endpoint_for`` makes a fresh local endpoint for the name of a planned HCA.
    """

    def __init__(self, guard: Guard, endpoint_for: Callable[[str], Endpoint]) -> None:
        self.guard = guard
        self._endpoint_for = endpoint_for
        self._tests: dict[str, _Test] = {}

    async def start(self, request: TestRequest, lease: str) -> Started:
        """Admit and start one end in a slot that is held; it is ready on return. Raises Refused or ProbeError."""
        self.guard.heard()
        note = await self.guard.admit(request, lease)
        endpoint = self._endpoint_for(request.hca)
        try:
            ready = await endpoint.start(request)
            # Whoever paused meanwhile could not see this test yet.
            if reason := self._must_stop(lease):
                raise Refused(reason, f"{request.hca}: testing stopped ({reason}) while the tool started")
        except BaseException:
            await endpoint.stop()
            self.guard.release(lease)
            raise
        name = secrets.token_hex(8)
        task = asyncio.create_task(self._finish(name, endpoint, note), name=f"test {name}")
        self._tests[name] = _Test(lease, endpoint, task)
        self._forget_old()
        return Started(name, ready)

    async def wait(self, name: str, limit_seconds: float) -> Outcome | None:
        """Return the outcome, or None when the test still runs after the limit. KeyError for an unknown id."""
        self.guard.heard()
        task = self._tests[name].task
        done, _ = await asyncio.wait({task}, timeout=limit_seconds)
        return task.result() if done else None

    async def stop(self, name: str) -> None:
        """End one test now; an unknown or finished one is left as it is."""
        self.guard.heard()
        if name in self._tests:
            await self._tests[name].endpoint.stop()

    async def supervise(self, sleep: Sleep = asyncio.sleep) -> None:
        """Until cancelled, end what runs as soon as the guard says that it must; ends all when cancelled."""
        try:
            while True:
                self.guard.slots.expire()
                await self._stop_running(self._must_stop)
                await sleep(WATCH_SECONDS)
        finally:
            await self._stop_running(lambda _lease: "shutdown")

    async def _stop_running(self, reason_for: Callable[[str], str]) -> None:
        """End every running test whose lease has a reason for it; their outcomes carry it as detail."""
        running = [test for test in self._tests.values() if not test.task.done()]
        for test in running:
            test.stopped_for = reason_for(test.lease)
        await asyncio.gather(*(test.endpoint.stop() for test in running if test.stopped_for))

    def _must_stop(self, lease: str) -> str:
        return self.guard.must_stop() or ("" if self.guard.slots.get(lease) else "lease_over")

    async def _finish(self, name: str, endpoint: Endpoint, note: str) -> Outcome:
        lease = self._tests[name].lease
        try:
            outcome = await endpoint.wait()
        finally:
            self.guard.release(lease)
        detail = outcome.detail + note
        if outcome.ended is Ended.STOPPED:
            detail = self._tests[name].stopped_for or detail
        return replace(outcome, detail=detail)

    def _forget_old(self) -> None:
        finished = [name for name, test in self._tests.items() if test.task.done()]
        for name in finished[:-KEPT_OUTCOMES]:
            self._tests.pop(name)
