"""The processes of one burst on one node: they end together, at the deadline, when stopped, or soon after one failed.

A rank that dies leaves the others inside a collective for ever, so the first that ends badly ends all, after a moment
in which each of them may still say what it saw itself.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from probes._endpoint import Ended
from probes._host import Completed, Process

PEER_GRACE_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Ends:
    """What each process left, in order; ``first`` is the place of the one whose bad end was the end of the others."""

    completed: tuple[Completed, ...]
    first: int | None = None
    ended_for_it: frozenset[int] = frozenset()


class BurstProcesses:
    """Started processes, watched from now on whether or not anybody waits for them."""

    def __init__(self, processes: Sequence[Process], *, grace_seconds: float = PEER_GRACE_SECONDS) -> None:
        self._processes = tuple(processes)
        self._grace_seconds = grace_seconds
        self._task = asyncio.create_task(self._watch(), name=f"burst of {len(processes)} processes")

    @property
    def over(self) -> bool:
        """Whether all have ended."""
        return self._task.done()

    @property
    def pids(self) -> tuple[int, ...]:
        """The leaders' process ids, in order."""
        return tuple(process.pid for process in self._processes)

    async def wait(self, limit_seconds: float | None = None) -> None:
        """Wait until all have ended, or for that long; cancelling leaves them alone."""
        await asyncio.wait({self._task}, timeout=limit_seconds)

    async def ends(self) -> Ends:
        """Wait for all, and return what they left."""
        return await asyncio.shield(self._task)

    async def stop(self) -> None:
        """End all at once, and wait until they are gone."""
        await asyncio.gather(*(process.stop() for process in self._processes))

    async def _watch(self) -> Ends:
        waits = [asyncio.create_task(process.wait(), name=f"end of {process.pid}") for process in self._processes]
        try:
            first = await self._first_bad_end(waits)
            if first is not None:
                await asyncio.wait(waits, timeout=self._grace_seconds)
            late = frozenset(place for place, wait in enumerate(waits) if not wait.done())
            await asyncio.gather(*(self._processes[place].stop() for place in late))
            return Ends(tuple([await wait for wait in waits]), first, late)
        finally:
            await self.stop()

    async def _first_bad_end(self, waits: Sequence[asyncio.Task[Completed]]) -> int | None:
        pending = set(waits)
        while pending:
            done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
            bad = sorted(waits.index(wait) for wait in done if _ended_badly(wait.result()))
            if bad:
                return bad[0]
        return None


def _ended_badly(completed: Completed) -> bool:
    return completed.ended is not Ended.EXIT or completed.exit_status != 0
