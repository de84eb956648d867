"""What runs on this node for a gate: under random ids, in slots that are held, ended when paused or the gate is lost.

An outcome is kept until it was superseded by KEPT_OUTCOMES later ones, so that the gate may ask for it again.
"""

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from exporter.guard import Guard
from probes._endpoint import Refused

KEPT_OUTCOMES = 64
WATCH_SECONDS = 0.25

Sleep = Callable[[float], Awaitable[None]]
O_co = TypeVar("O_co", covariant=True)
O = TypeVar("O")  # noqa: E741 an outcome
R = TypeVar("R")


class End(Protocol[O_co]):
    """What was started: it ends by itself, or is ended."""

    async def wait(self) -> O_co:
        """Wait for its end and return what it left."""

    async def stop(self) -> None:
        """End it now."""


@dataclass(slots=True)
class _Entry(Generic[O]):
    lease: str
    end: End[O]
    task: asyncio.Task[O]
    stopped_for: str = ""


class Running(Generic[O]):
    """Ends of one kind. ``told`` adds to an outcome the note of its admission, and why it was stopped from here."""

    def __init__(self, guard: Guard, told: Callable[[O, str, str], O]) -> None:
        self.guard = guard
        self._told = told
        self._entries: dict[str, _Entry[O]] = {}

    @property
    def count(self) -> int:
        """How many are known, those that are over included."""
        return len(self._entries)

    async def begin(self, end: End[O], ready: Awaitable[R], *, lease: str, note: str) -> tuple[str, R]:
        """Start an admitted end by awaiting ``ready``; return its id and the answer. Raises Refused, or what that does.

        What was admitted is given back here, now or at its end.
        """
        try:
            answer = await self._unless_stopped(ready, lease)
        except BaseException:
            await end.stop()
            self.guard.release(lease)
            raise
        name = secrets.token_hex(8)
        task = asyncio.create_task(self._finish(name, end, note), name=f"test {name}")
        self._entries[name] = _Entry(lease, end, task)
        self._forget_old()
        return name, answer

    async def wait(self, name: str, limit_seconds: float) -> O | None:
        """Return the outcome, or None when it still runs after the limit. KeyError for an unknown id."""
        self.guard.heard()
        task = self._entries[name].task
        done, _ = await asyncio.wait({task}, timeout=limit_seconds)
        return task.result() if done else None

    async def stop(self, name: str) -> None:
        """End one now; an unknown or finished one is left as it is."""
        self.guard.heard()
        if name in self._entries:
            await self._entries[name].end.stop()

    async def supervise(self, sleep: Sleep = asyncio.sleep) -> None:
        """Until cancelled, end what runs as soon as the guard says that it must; ends all when cancelled."""
        try:
            while True:
                self.guard.slots.expire()
                await self._stop_running(self._must_stop)
                await sleep(WATCH_SECONDS)
        finally:
            await self._stop_running(lambda _lease: "shutdown")

    async def _unless_stopped(self, ready: Awaitable[R], lease: str) -> R:
        """Await a start, which may take a minute; whoever pauses meanwhile cannot see yet what was started."""
        task = asyncio.ensure_future(ready)
        try:
            while True:
                await asyncio.wait({task}, timeout=WATCH_SECONDS)
                if task.done() and task.exception():
                    return task.result()
                if reason := self._must_stop(lease):
                    raise Refused(reason, f"testing stopped ({reason}) while it started")
                if task.done():
                    return task.result()
        finally:
            task.cancel()
            await asyncio.wait({task})

    async def _stop_running(self, reason_for: Callable[[str], str]) -> None:
        """End every running one whose lease has a reason for it; their outcomes carry it as detail."""
        running = [entry for entry in self._entries.values() if not entry.task.done()]
        for entry in running:
            entry.stopped_for = reason_for(entry.lease)
        await asyncio.gather(*(entry.end.stop() for entry in running if entry.stopped_for))

    def _must_stop(self, lease: str) -> str:
        return self.guard.must_stop() or ("" if self.guard.slots.get(lease) else "lease_over")

    async def _finish(self, name: str, end: End[O], note: str) -> O:
        lease = self._entries[name].lease
        try:
            outcome = await end.wait()
        finally:
            self.guard.release(lease)
        return self._told(outcome, note, self._entries[name].stopped_for)

    def _forget_old(self) -> None:
        finished = [name for name, entry in self._entries.items() if entry.task.done()]
        for name in finished[:-KEPT_OUTCOMES]:
            self._entries.pop(name)
