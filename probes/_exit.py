"""A child's exit is noticed by the event loop at once, and the child stays unreaped.

Kernels before 5.3 and some sandboxes have no process descriptors; there the child is looked at every 20 ms.
"""

import asyncio
import os
from collections.abc import Callable

POLL_SECONDS = 0.02


def watch_exit(pid: int, on_exit: Callable[[], None]) -> Callable[[], object]:
    """Call ``on_exit`` once when the child has exited; the answer ends the watch and must be called in the end."""
    try:
        descriptor = os.pidfd_open(pid)
    except OSError:
        return poll_exit(pid, on_exit)
    loop = asyncio.get_running_loop()

    def exited() -> None:
        loop.remove_reader(descriptor)
        on_exit()

    def stop() -> None:
        loop.remove_reader(descriptor)
        os.close(descriptor)

    loop.add_reader(descriptor, exited)
    return stop


def poll_exit(pid: int, on_exit: Callable[[], None]) -> Callable[[], object]:
    """Like ``watch_exit``, by looking again and again."""
    loop = asyncio.get_running_loop()
    pending: list[asyncio.TimerHandle] = []

    def look() -> None:
        pending.clear()
        if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
            pending.append(loop.call_later(POLL_SECONDS, look))
        else:
            on_exit()

    def stop() -> None:
        for timer in pending:
            timer.cancel()

    look()
    return stop
