"""After a failure nobody asks again at once, nor do all ask again together."""

from collections.abc import Callable
from dataclasses import dataclass
from random import uniform

RETRY_AFTER_AT_MOST_SECONDS = 60.0


@dataclass
class Backoff:
    """Pauses that double from ``first_seconds`` to ``most_seconds``, each shortened by up to half by chance."""

    first_seconds: float = 0.5
    most_seconds: float = 30.0
    chance: Callable[[float, float], float] = uniform
    failures: int = 0

    def after_failure(self, retry_after_seconds: float = 0.0) -> float:
        """Return the seconds to wait now; never less than what the server asks for, within reason."""
        grown = min(self.most_seconds, self.first_seconds * 2 ** min(self.failures, 16))
        self.failures += 1
        asked = min(retry_after_seconds, RETRY_AFTER_AT_MOST_SECONDS)
        return asked + self.chance(grown / 2, grown)

    def succeeded(self) -> None:
        """Begin anew."""
        self.failures = 0
