"""A read that hangs in the kernel holds up nothing but its own worker: one daemon thread, started when first needed.

The shared pool of ``asyncio.to_thread`` will not do: a few hung reads starve everybody, and its threads are joined at
exit, so that one of them would keep the process from ending.
"""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any, TypeVar

T = TypeVar("T")
Job = tuple[Future[Any], Callable[[], Any]]


class Worker:
    """Runs one call after the other in its one thread."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._unfinished: set[Future[Any]] = set()
        self._thread: threading.Thread | None = None

    @property
    def busy(self) -> bool:
        """Whether a call is queued or still runs, also one whose caller has given up."""
        return bool(self._unfinished)

    async def call(self, function: Callable[[], T]) -> T:
        """The function's answer, or its exception. Cancelling ends the wait, never the thread."""
        future: Future[T] = Future()
        self._unfinished.add(future)
        self._jobs.put((future, function))
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name=self._name, daemon=True)
            self._thread.start()
        return await asyncio.wrap_future(future)

    def close(self) -> None:
        """Let the thread end once it has nothing left to do; it is not waited for."""
        self._jobs.put(None)

    def _work(self) -> None:
        while job := self._jobs.get():
            self._do(*job)

    def _do(self, future: Future[Any], function: Callable[[], Any]) -> None:
        if not future.set_running_or_notify_cancel():
            self._unfinished.discard(future)
            return
        try:
            answer, error = function(), None
        except Exception as raised:  # handed to the caller whole, so nothing is swallowed here
            answer, error = None, raised
        self._unfinished.discard(future)
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(answer)
