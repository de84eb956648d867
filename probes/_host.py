"""All facts about the machine come through one door: files below a root, devices opened and closed, commands run.

Give it another root and a recorded tree is a machine. Nothing is held between calls, or driver upgrades would hang.
"""

import errno
import os
import stat
from collections.abc import Awaitable, Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Protocol, TypeVar

from probes._process import SEARCH_PATH, Command, Completed, Process, start_process
from probes._worker import Worker

__all__ = ["Command", "Completed", "Host", "Process", "Tree"]

T = TypeVar("T")
LOG_RECORD_BYTES = 8192  # a shorter read than the record answers EINVAL


class Tree:
    """The files below a root, read synchronously; paths are absolute as the machine itself would write them.

    ``on_access`` hears of each path before it is touched: a recorder learns so what a reader needs.
    """

    def __init__(self, root: str | Path = "/", on_access: Callable[[str], object] | None = None) -> None:
        self.root = Path(root)
        self._real_root = os.path.realpath(root)
        self._on_access = on_access

    def text(self, path: str, limit_bytes: int = 65536) -> str:
        """The stripped text of a file, at most its first ``limit_bytes``; OSError as it comes."""
        return self.content(path, limit_bytes).decode(errors="replace").strip()

    def content(self, path: str, limit_bytes: int) -> bytes:
        """The bytes of a file, at most its first ``limit_bytes``; OSError as it comes."""
        with open(self._below(path), "rb") as file:
            return file.read(limit_bytes)

    def names(self, path: str) -> list[str]:
        """The sorted entries of a directory; none when it is absent."""
        try:
            return sorted(os.listdir(self._below(path)))
        except (FileNotFoundError, NotADirectoryError):
            return []

    def link(self, path: str) -> str:
        """Where a symlink leads in the end, as an absolute path below the root. FileNotFoundError when nowhere."""
        target, root = _resolve(self._below(path)), self._real_root.rstrip("/")
        if target == self._real_root:
            return "/"
        if not target.startswith(f"{root}/"):
            raise FileNotFoundError(errno.ENOENT, "the link leads out of the root", path)
        return target.removeprefix(root)

    def exists(self, path: str) -> bool:
        """Whether a file, directory, or the target of a symlink is there."""
        return os.path.exists(self._below(path))

    def open_device(self, path: str) -> None:
        """Open a device read-write and close it at once. OSError with the errno that the kernel gave."""
        if recorded := self._recorded(path):
            name = recorded[1]
            if name != "ok":
                raise OSError(getattr(errno, name), os.strerror(getattr(errno, name)), path)
            return
        os.close(os.open(self._below(path), os.O_RDWR | os.O_CLOEXEC))

    def device_number(self, path: str) -> tuple[int, int]:
        """Major and minor of a device node; (0, 0) for a file that is none. FileNotFoundError when it is absent."""
        if recorded := self._recorded(path):
            major, _, minor = recorded[0].partition(":")
            return int(major), int(minor)
        found = os.stat(self._below(path))
        if not stat.S_ISCHR(found.st_mode):
            return 0, 0
        return os.major(found.st_rdev), os.minor(found.st_rdev)

    def filesystem_bytes(self, path: str) -> int:
        """The size of the filesystem mounted at a path. FileNotFoundError when it is absent."""
        recorded = Path(self._below(path + ".bytes"))
        if recorded.is_file():
            return int(recorded.read_text())
        found = os.statvfs(self._below(path))
        return found.f_frsize * found.f_blocks

    def log(self, path: str, limit_bytes: int) -> str:
        """What a log device holds now, at most ``limit_bytes``; reading it takes nothing away. OSError as it comes."""
        handle = os.open(self._below(path), os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            return b"".join(_log_records(handle, limit_bytes)).decode(errors="replace")
        finally:
            os.close(handle)

    def _recorded(self, path: str) -> tuple[str, str] | None:
        """The numbers and the errno name (``ok`` for none) of a device node in a recorded tree."""
        file = Path(self._below(path + ".dev"))
        if not file.is_file():
            return None
        numbers, name = file.read_text().split()
        return numbers, name

    def _below(self, path: str) -> str:
        if self._on_access:
            self._on_access(path)
        return os.path.join(self._real_root, path.lstrip("/"))


class Launcher(Protocol):
    """Knows programs that have to be started otherwise than by their name (``probes/_runner.py``)."""

    async def launched(
        self, command: Command, search_path: str, run: Callable[[Command], Awaitable[Completed]]
    ) -> Command:
        """Return the command as it has to be started; ``run`` starts one as it is."""
        ...


class Host:
    """The machine below a root: reads run in this Host's single worker thread, commands in the event loop.

    ``environment`` is where PATH, HOME and LD_LIBRARY_PATH of commands come from; nothing else of it is passed on.
    """

    def __init__(
        self,
        root: str | Path = "/",
        *,
        environment: Mapping[str, str] | None = None,
        launcher: Launcher | None = None,
    ) -> None:
        self._tree = Tree(root)
        self._environment = dict(environment or {})
        self._launcher = launcher
        self._worker = Worker(f"host {root}")

    @property
    def busy(self) -> bool:
        """Whether the worker thread is still inside an earlier read."""
        return self._worker.busy

    async def read(self, reader: Callable[[Tree], T]) -> T:
        """What ``reader`` makes of the tree, or its exception. Cancelling ends the wait, not the thread."""
        return await self._worker.call(partial(reader, self._tree))

    async def start(self, command: Command) -> Process:
        """Start a command; one that cannot be started ends NOT_STARTED with stderr saying why."""
        if self._launcher is not None:
            search_path = self._environment.get("PATH", SEARCH_PATH)
            command = await self._launcher.launched(command, search_path, self._run_as_it_is)
        return start_process(command, self._environment)

    async def run(self, command: Command) -> Completed:
        """Start a command and wait for its end. Cancelling kills its whole group."""
        return await _end_of(await self.start(command))

    async def _run_as_it_is(self, command: Command) -> Completed:
        return await _end_of(start_process(command, self._environment))

    def close(self) -> None:
        """Let the worker thread end; a read that hangs is not waited for."""
        self._worker.close()


async def _end_of(process: Process) -> Completed:
    try:
        return await process.wait()
    finally:
        await process.stop()


def _log_records(handle: int, limit_bytes: int) -> Iterator[bytes]:
    left_bytes = limit_bytes
    while left_bytes > 0:
        try:
            record = os.read(handle, LOG_RECORD_BYTES)
        except BlockingIOError:  # the end of what there is
            return
        except BrokenPipeError:  # records were overwritten while we read
            continue
        if not record:
            return
        left_bytes -= len(record)
        yield record


def _resolve(path: str) -> str:
    """The kernel's own word for where a path leads: three calls, where walking it here takes one for each directory."""
    handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        return os.readlink(f"/proc/self/fd/{handle}")
    finally:
        os.close(handle)
