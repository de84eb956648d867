"""A started tool ends, with all its descendants in its group, at its deadline at the latest; what it printed is kept.

There is no shell, no thread and no child watcher: pipes and the process itself are file descriptors of the event loop.
A child stays unreaped until its group was killed, so that the group's number cannot be another's by then.
"""

import asyncio
import os
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import IO

from probes._endpoint import Ended
from probes._exit import watch_exit

GRACE_SECONDS = 0.2
REAP_SECONDS = 1.0
READ_BYTES = 65536
PIPE_READS = 16
SEARCH_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True, slots=True)
class Command:
    """One program with its arguments. The limit is in seconds of wall clock, the output limit per stream.

    ``cpus`` are the processors that it may run on, empty for all.
    """

    argv: tuple[str, ...]
    limit_seconds: float
    output_limit_bytes: int = 1 << 20
    environment: Mapping[str, str] = field(default_factory=dict)
    niceness: int = 10
    cpus: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Completed:
    """What a command left.

    ``exit_status`` is negative for a signal, None where there is none (never started, or not to be killed).
    ``truncated`` says that one of the streams was longer than the limit; its beginning is kept.
    """

    argv: tuple[str, ...]
    ended: Ended
    exit_status: int | None
    stdout: str
    stderr: str
    seconds: float
    truncated: bool = False


class Process:
    """A started command. It is ended at its deadline whether or not anybody waits for it."""

    def __init__(self, command: Command, popen: subprocess.Popen[bytes] | None, refusal: str = "") -> None:
        self._command = command
        self._popen = popen
        self._loop = asyncio.get_running_loop()
        self._started = self._loop.time()
        self._over: asyncio.Future[Ended] = self._loop.create_future()
        self._exited = asyncio.Event()
        self._stdout = _Stream(command.output_limit_bytes)
        self._stderr = _Stream(command.output_limit_bytes, refusal.encode())
        self._task = self._loop.create_task(self._supervise(), name=f"process {command.argv[0]} {self.pid}")
        self._task.add_done_callback(self._leave_nothing)

    @property
    def pid(self) -> int:
        """The leader's process id, which is its group's too; 0 when it could not be started."""
        return self._popen.pid if self._popen else 0

    async def wait(self) -> Completed:
        """Wait for the end, whichever it is. Cancelling the wait leaves the process alone."""
        return await asyncio.shield(self._task)

    async def stop(self) -> None:
        """End the whole group now and wait until it is gone. Safe to call at any time, more than once."""
        self._finish(Ended.STOPPED)
        await asyncio.wait({self._task})

    def stdout_so_far(self) -> str:
        """What has arrived on standard output until now."""
        return self._stdout.text()

    def _finish(self, ended: Ended) -> None:
        if not self._over.done():
            self._over.set_result(ended)

    def _leader_exited(self) -> None:
        self._exited.set()
        self._finish(Ended.EXIT)

    async def _supervise(self) -> Completed:
        if self._popen is None:
            return self._completed(Ended.NOT_STARTED)
        stop_watching = watch_exit(self._popen.pid, self._leader_exited)
        streams = ((self._popen.stdout, self._stdout), (self._popen.stderr, self._stderr))
        for pipe, stream in streams:
            stream.open(pipe)
        deadline = self._loop.call_later(self._command.limit_seconds, self._finish, Ended.DEADLINE)
        try:
            ended = await self._over
            await self._end_group(self._popen.pid, ended)
        finally:
            deadline.cancel()
            stop_watching()
            _kill_group(self._popen.pid, signal.SIGKILL)
            self._popen.poll()
            for _, stream in streams:
                stream.close()
        return self._completed(ended)

    def _leave_nothing(self, _: asyncio.Task[Completed]) -> None:
        """A task cancelled before its first step has cleaned nothing up."""
        if self._popen and self._popen.returncode is None:
            _kill_group(self._popen.pid, signal.SIGKILL)

    async def _end_group(self, pid: int, ended: Ended) -> None:
        if ended is not Ended.EXIT:
            _kill_group(pid, signal.SIGTERM)
            await self._exit_within(GRACE_SECONDS)
        _kill_group(pid, signal.SIGKILL)
        await self._exit_within(REAP_SECONDS)

    async def _exit_within(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._exited.wait()
        except TimeoutError:
            return

    def _completed(self, ended: Ended) -> Completed:
        return Completed(
            argv=self._command.argv,
            ended=ended,
            exit_status=self._popen.returncode if self._popen else None,
            stdout=self._stdout.text(),
            stderr=self._stderr.text(),
            seconds=self._loop.time() - self._started,
            truncated=self._stdout.truncated or self._stderr.truncated,
        )


def start_process(command: Command, inherited: Mapping[str, str]) -> Process:
    """Start the command in a session of its own, with stdin empty; one that cannot be started has ended NOT_STARTED."""
    try:
        with _on(command.cpus):
            popen = subprocess.Popen(
                command.argv,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
                env=child_environment(command.environment, inherited),
            )
    except (OSError, ValueError) as error:
        return Process(command, None, f"{command.argv[0]}: {error}")
    _be_nice(popen.pid, command.niceness)
    return Process(command, popen)


def child_environment(wanted: Mapping[str, str], inherited: Mapping[str, str]) -> dict[str, str]:
    """The allow-list: where programs and libraries are found, the C locale, and what the command itself sets."""
    kept = {name: inherited[name] for name in ("HOME", "LD_LIBRARY_PATH") if name in inherited}
    return {"PATH": inherited.get("PATH", SEARCH_PATH), **kept, "LC_ALL": "C", **wanted}


@contextmanager
def _on(cpus: frozenset[int]) -> Iterator[None]:
    """A child inherits the processors of the thread that starts it, before any thread of its own."""
    if not cpus:
        yield
        return
    own = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cpus)
    try:
        yield
    finally:
        os.sched_setaffinity(0, own)


def _be_nice(pid: int, niceness: int) -> None:
    # in the parent, since code between fork and exec is not safe beside threads
    with suppress(OSError):
        os.setpriority(os.PRIO_PGRP, pid, niceness)


def _kill_group(pid: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)


class _Stream:
    """One pipe of a child: read on until its end, kept up to the limit."""

    def __init__(self, limit_bytes: int, start: bytes = b"") -> None:
        self.truncated = False
        self._kept = bytearray(start)
        self._limit_bytes = limit_bytes
        self._pipe: IO[bytes] | None = None

    def open(self, pipe: IO[bytes] | None) -> None:
        assert pipe is not None
        self._pipe = pipe
        os.set_blocking(pipe.fileno(), False)
        asyncio.get_running_loop().add_reader(pipe.fileno(), self._read)

    def text(self) -> str:
        return self._kept.decode(errors="replace")

    def close(self) -> None:
        """Take what still lies in the pipe, not what a runaway descendant goes on writing."""
        for _ in range(PIPE_READS):
            if not self._read():
                break
        self._shut()

    def _read(self) -> bool:
        if self._pipe is None:
            return False
        try:
            data = os.read(self._pipe.fileno(), READ_BYTES)
        except BlockingIOError:
            return False
        if not data:
            self._shut()
            return False
        room = self._limit_bytes - len(self._kept)
        self._kept += data[:room]
        self.truncated = self.truncated or len(data) > room
        return True

    def _shut(self) -> None:
        if self._pipe is not None:
            asyncio.get_running_loop().remove_reader(self._pipe.fileno())
            self._pipe.close()
            self._pipe = None
