"""Time is passed in, so that a test can move it: a clock to read, and a wait that ends early on an event."""

import asyncio
import time
from contextlib import suppress
from typing import Protocol


class Times(Protocol):
    """Two clocks: one for stamps and for what outlives the process, one for waiting."""

    def now(self) -> float:
        """Return Unix seconds."""

    def monotonic(self) -> float:
        """Return seconds since some moment; nobody can set them back."""


class Clock(Protocol):
    """The wall clock for stamps, a clock that never goes back for waiting, and the only way in which loops wait."""

    def now(self) -> float:
        """Return Unix seconds."""

    def monotonic(self) -> float:
        """Return seconds since some moment; nobody can set them back."""

    async def wait(self, event: asyncio.Event, limit_seconds: float) -> None:
        """Return once ``event`` is set, or after ``limit_seconds``."""


class SystemClock:
    """The machine's own clock."""

    def now(self) -> float:
        """Return Unix seconds."""
        return time.time()

    def monotonic(self) -> float:
        """Return seconds since some moment; nobody can set them back."""
        return time.monotonic()

    async def wait(self, event: asyncio.Event, limit_seconds: float) -> None:
        """Return once ``event`` is set, or after ``limit_seconds``."""
        with suppress(TimeoutError):
            async with asyncio.timeout(limit_seconds):
                await event.wait()
