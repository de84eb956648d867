"""A program of the machine that runs beside the tests: its output is kept, and it never outlives this process."""

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

TAIL_LINES = 15


class ChildEndedError(Exception):
    """The program ended by itself; the message holds the end of its log."""


@dataclass(frozen=True)
class Child:
    """A started program and the file with all that it said."""

    name: str
    popen: subprocess.Popen[bytes]
    log: Path

    def check(self) -> None:
        """Raise ChildEndedError when it does not run any more."""
        if (status := self.popen.poll()) is not None:
            raise ChildEndedError(f"{self.name}: exit status {status} found, wanted it running\n{self.tail()}")

    def tail(self) -> str:
        """The last lines of its log."""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-TAIL_LINES:])

    def kill(self) -> None:
        """End it and its descendants at once; nothing is left to be reaped."""
        if self.popen.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(self.popen.pid, signal.SIGKILL)
        self.popen.wait()


def start(argv: Sequence[str], log: Path, *, folder: Path, environment: Mapping[str, str] | None = None) -> Child:
    """Start it in a group of its own, in this folder, writing to this log.

    The kernel kills it when the thread that called this ends, however that happens: call it from the main thread.
    """
    with log.open("wb") as file:
        popen = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", *argv],
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env=None if environment is None else dict(environment),
            start_new_session=True,
        )
    return Child(Path(argv[0]).name, popen, log)
