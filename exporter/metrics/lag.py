"""The event loop answers within milliseconds; how late it really was in the last minute is measured here."""

import asyncio
from collections import deque

TICK_SECONDS = 0.25
WINDOW_TICKS = 240


class LoopLag:
    """The delays of the last minute's ticks, in seconds."""

    def __init__(self) -> None:
        self._delays = deque[float](maxlen=WINDOW_TICKS)

    @property
    def worst_seconds(self) -> float:
        """The longest delay in the window; 0 before the first tick."""
        return max(self._delays, default=0.0)

    async def watch(self) -> None:
        """Measure until cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            due = loop.time() + TICK_SECONDS
            await asyncio.sleep(TICK_SECONDS)
            self.note(loop.time() - due)

    def note(self, delay_seconds: float) -> None:
        """Take one tick's delay into the window."""
        self._delays.append(max(0.0, delay_seconds))
