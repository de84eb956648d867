"""Time is passed in, so that a test can move it: a clock to read, and a wait that ends early on an event."""

import asyncio
import time
from contextlib import suppress
from typing import Protocol


class Clock(Protocol):
    """The wall clock in Unix seconds, and the only way in which the scheduler waits."""

    def now(self) -> float:
        """Return Unix seconds."""

    async def wait(self, event: asyncio.Event, limit_seconds: float) -> None:
        """Return once ``event`` is set, or after ``limit_seconds``."""


class SystemClock:
    """The machine's own clock."""

    def now(self) -> float:
        """Return Unix seconds."""
        return time.time()

    async def wait(self, event: asyncio.Event, limit_seconds: float) -> None:
        """Return once ``event`` is set, or after ``limit_seconds``."""
        with suppress(TimeoutError):
            async with asyncio.timeout(limit_seconds):
                await event.wait()
