"""A program under measurement: started on a free port of 127.0.0.1, asked until it answers, and ended."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.bench.http_get import NoAnswerError, get

REPOSITORY = Path(__file__).resolve().parents[2]
ANSWER_LIMIT_SECONDS = 60.0
END_LIMIT_SECONDS = 5.0
ASK_AGAIN_SECONDS = 0.002
BYTECODE = REPOSITORY / ".run" / "bench-bytecode"


@dataclass(frozen=True)
class Server:
    """A running program: its port, its process id, and how long it took to its first answer."""

    port: int
    pid: int
    first_answer_seconds: float


def python(module: str, *arguments: object) -> list[str]:
    """Return the command that runs a module with this interpreter."""
    return [sys.executable, "-m", module, *map(str, arguments)]


@contextmanager
def running(argv: Sequence[str], port: int, *, log: Path) -> Iterator[Server]:
    """Run the command until the block ends; it is there once ``/metrics`` answers. RuntimeError with its log."""
    began = time.perf_counter()
    with log.open("wb") as file:
        process = subprocess.Popen(
            argv, cwd=REPOSITORY, stdin=subprocess.DEVNULL, stdout=file, stderr=file, env=_environment()
        )
    try:
        _await_answer(process, port, log)
        yield Server(port, process.pid, time.perf_counter() - began)
    finally:
        process.terminate()
        try:
            process.wait(END_LIMIT_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _environment() -> dict[str, str]:
    # An installed program has its bytecode at hand; a checkout may be told to write none.
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return kept | {"PYTHONPYCACHEPREFIX": str(BYTECODE)}


def _await_answer(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    deadline = time.monotonic() + ANSWER_LIMIT_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            get(port, "/metrics")
            return
        except NoAnswerError:
            time.sleep(ASK_AGAIN_SECONDS)
    raise RuntimeError(f"{process.args}: no answer on port {port}, one wanted\n{log.read_text()[-2000:]}")
