"""Testing moves at most so many bytes per hour through a node: a token bucket that lives in the ledger's file.

The bucket holds one hour's bytes and fills evenly, so that after a restart no more may be sent than before it.
"""

from collections.abc import Callable, MutableMapping

HOUR_SECONDS = 3600.0


class ByteBudget:
    """The bucket over ``tokens``: ``bytes`` left as of ``at`` (Unix seconds); an empty mapping is a full bucket."""

    def __init__(self, tokens: MutableMapping[str, float], clock: Callable[[], float]) -> None:
        self._tokens = tokens
        self._clock = clock

    def left_bytes(self, capacity_bytes: int) -> float:
        """Return the bytes that may be sent now, of ``capacity_bytes`` an hour."""
        left = self._tokens.get("bytes", capacity_bytes)
        # A clock set back must not take tokens away, nor give any.
        idle_seconds = max(0.0, self._clock() - self._tokens.get("at", self._clock()))
        return min(float(capacity_bytes), left + idle_seconds * capacity_bytes / HOUR_SECONDS)

    def take(self, wanted_bytes: int, capacity_bytes: int) -> bool:
        """Take the bytes out, or return False and take none."""
        left = self.left_bytes(capacity_bytes)
        if wanted_bytes > left:
            return False
        self._tokens.update(bytes=left - wanted_bytes, at=self._clock())
        return True

    def wait_seconds(self, wanted_bytes: int, capacity_bytes: int) -> float:
        """Return how long until so many bytes (no more than the capacity) are there."""
        return max(0.0, wanted_bytes - self.left_bytes(capacity_bytes)) * HOUR_SECONDS / capacity_bytes
