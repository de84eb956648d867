"""One line for each step, with the seconds since the start."""

import sys
import time
from collections.abc import Callable

Say = Callable[[str], None]


def start() -> Say:
    """Start the clock."""
    begun = time.monotonic()
    return lambda text: tell(f"[{time.monotonic() - begun:6.1f} s] {text}")


def tell(text: str) -> None:
    """A line for the user, at once even through a pipe."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()
