"""A clock for tests that wait for nothing real."""

import asyncio


class Ticking:
    """A clock on which each wait takes its whole second."""

    def __init__(self) -> None:
        self.seconds = 1_800_000_000.0

    def now(self) -> float:
        return self.seconds

    def monotonic(self) -> float:
        return self.seconds

    async def wait(self, event: asyncio.Event, limit_seconds: float) -> None:
        self.seconds += limit_seconds
        await asyncio.sleep(0)
