#!/usr/bin/python3
"""The agent does what the host asks for: one JSON line in, one JSON line out, on TCP port 1000.

Operations: run (a command with a deadline, killed as a whole process group), spawn (a process
that outlives the request), put (a file), wake (clock and randomness after a restore).
"""

import base64
import contextlib
import fcntl
import json
import os
import signal
import socketserver
import struct
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

PORT = 1000
OUTPUT_LIMIT_BYTES = 8 << 20
ENVIRONMENT = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "LC_ALL": "C.UTF-8",
    "HOME": "/tmp",  # noqa: S108  the guest has one user and no secrets
}
RNDADDENTROPY = 0x40085203
RNDRESEEDCRNG = 0x5207

Answer = dict[str, Any]
Child = subprocess.Popen[bytes]


class Request(socketserver.StreamRequestHandler):
    """One request and its answer."""

    def handle(self) -> None:
        """What cannot be done is answered too."""
        line = self.rfile.readline()
        if not line:
            return
        try:
            request = json.loads(line)
            answer = OPERATIONS[request.pop("op")](**request)
        except (OSError, ValueError, KeyError, TypeError) as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        self.wfile.write(json.dumps(answer).encode() + b"\n")


class Server(socketserver.ThreadingTCPServer):
    """A thread for each request."""

    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 64


def run(
    argv: list[str],
    timeout: float,
    uid: int = 0,
    memlock: str | None = None,
    stdin: str = "",
    env: dict[str, str] | None = None,
) -> Answer:
    """Wait for a command, at most `timeout` seconds; 127 for one that is not there, as a shell says."""
    started = time.monotonic()
    try:
        child = start(as_user(argv, uid, memlock), stdin, env)
    except (FileNotFoundError, PermissionError) as error:
        return {"rc": 127, "out": "", "err": f"{error}\n", "timed_out": False, "wall_seconds": 0.0}
    out, err, timed_out = collect(child, started + timeout)
    return {
        "rc": child.poll(),
        "out": out.decode("utf-8", "replace"),
        "err": err.decode("utf-8", "replace"),
        "timed_out": timed_out,
        "wall_seconds": round(time.monotonic() - started, 4),
    }


def start(argv: list[str], stdin: str, env: dict[str, str] | None) -> Child:
    """In a session of its own, so that it can be killed with all its children."""
    with tempfile.TemporaryFile() as typed:
        typed.write(stdin.encode())
        typed.seek(0)
        return subprocess.Popen(
            argv,
            stdin=typed,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**ENVIRONMENT, **(env or {})},
            start_new_session=True,
        )


def spawn(
    argv: list[str],
    log: str,
    uid: int = 0,
    memlock: str | None = None,
    env: dict[str, str] | None = None,
) -> Answer:
    """Start a process and do not wait for it."""
    with Path(log).open("ab") as output:
        child = subprocess.Popen(
            as_user(argv, uid, memlock),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env={**ENVIRONMENT, **(env or {})},
            start_new_session=True,
        )
    # Somebody has to reap it, or a killed process would still look alive.
    threading.Thread(target=child.wait, daemon=True).start()
    return {"pid": child.pid}


def put(path: str, data: str, mode: int) -> Answer:
    """Write a file and its directories."""
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(base64.b64decode(data))
    file.chmod(mode)
    return {}


def wake(now: float, seed: str) -> Answer:
    """Both guests were frozen: their clock stands still and they would repeat their random numbers."""
    time.clock_settime(time.CLOCK_REALTIME, now)
    entropy = base64.b64decode(seed)
    with Path("/dev/urandom").open("wb") as random:
        fcntl.ioctl(random, RNDADDENTROPY, struct.pack("ii", len(entropy) * 8, len(entropy)) + entropy)
        fcntl.ioctl(random, RNDRESEEDCRNG)
    return {}


OPERATIONS: dict[str, Callable[..., Answer]] = {"run": run, "spawn": spawn, "put": put, "wake": wake}


def as_user(argv: list[str], uid: int, memlock: str | None) -> list[str]:
    """The limit is set while still root: an ordinary user could not raise it."""
    limited = ["prlimit", f"--memlock={memlock}:{memlock}", "--"] if memlock is not None else []
    user = ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", "--"] if uid else []
    return [*limited, *user, *argv]


def collect(child: Child, deadline: float) -> tuple[bytes, bytes, bool]:
    """Output, errors, and whether the time was up."""
    out, err = bytearray(), bytearray()
    readers = [
        threading.Thread(target=drain, args=pair, daemon=True) for pair in ((child.stdout, out), (child.stderr, err))
    ]
    for reader in readers:
        reader.start()
    if ended(child, readers, deadline):
        return bytes(out), bytes(err), False
    for number, grace_seconds in ((signal.SIGTERM, 3), (signal.SIGKILL, 5)):
        signal_group(child.pid, number)
        if ended(child, readers, time.monotonic() + grace_seconds):
            break
    return bytes(out), bytes(err), True


def drain(pipe: IO[bytes], kept: bytearray) -> None:
    """Reads to the end, or the child would block; keeps only so much, or a flood would fill memory."""
    for chunk in iter(lambda: os.read(pipe.fileno(), 65536), b""):
        kept += chunk[: OUTPUT_LIMIT_BYTES - len(kept)]


def ended(child: Child, readers: list[threading.Thread], deadline: float) -> bool:
    """The process is gone and nobody holds its pipes. Waiting for a process polls, so the pipes come first."""
    for reader in readers:
        reader.join(max(0, deadline - time.monotonic()))
    try:
        child.wait(max(0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        return False
    return not any(reader.is_alive() for reader in readers)


def signal_group(pid: int, number: int) -> None:
    """It may have ended by itself."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, number)


if __name__ == "__main__":
    Server(("", PORT), Request).serve_forever()
