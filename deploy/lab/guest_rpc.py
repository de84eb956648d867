"""Talking to the agent in a guest: one TCP connection on loopback for each request."""

import base64
import json
import os
import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


class GuestError(Exception):
    """The agent did not answer, or could not do what it was asked."""


@dataclass(frozen=True)
class Result:
    """What a command in a guest did. `rc` is negative for a signal, None for a process that cannot be killed."""

    rc: int | None
    out: str
    err: str
    timed_out: bool
    wall_seconds: float


@dataclass(frozen=True)
class Agent:
    """The agent of one guest, by its port on 127.0.0.1."""

    port: int

    def run(
        self,
        command: str | Sequence[str],
        *,
        timeout: float = 60,
        uid: int = 0,
        memlock: str | None = None,
        stdin: str = "",
        env: dict[str, str] | None = None,
    ) -> Result:
        """Run argv, or a string by bash; after `timeout` seconds its process group is killed.

        `memlock` is bytes or "unlimited".
        """
        answer = self.ask(
            timeout + 20, op="run", argv=argv(command), timeout=timeout, uid=uid, memlock=memlock, stdin=stdin, env=env
        )
        return Result(**answer)

    def spawn(
        self,
        command: str | Sequence[str],
        *,
        log: str,
        uid: int = 0,
        memlock: str | None = None,
        env: dict[str, str] | None = None,
    ) -> int:
        """Start a process that outlives the request, output appended to `log`; returns its pid."""
        return int(self.ask(op="spawn", argv=argv(command), log=log, uid=uid, memlock=memlock, env=env)["pid"])

    def put(self, path: str, content: bytes, mode: int = 0o644) -> None:
        """Write a file in the guest, its directories too."""
        self.ask(op="put", path=path, data=base64.b64encode(content).decode(), mode=mode)

    def wake(self) -> None:
        """Give a restored guest the present time and fresh randomness."""
        self.ask(5, op="wake", now=time.time(), seed=base64.b64encode(os.urandom(64)).decode())

    def ask(self, limit_seconds: float = 30, **request: object) -> dict[str, Any]:
        """One request and its answer."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=limit_seconds) as connection:
                connection.sendall(json.dumps(request).encode() + b"\n")
                line = connection.makefile().readline()
        except OSError as error:
            raise GuestError(f"agent on port {self.port}: {error}") from error
        if not line:
            raise GuestError(f"agent on port {self.port}: closed the connection without an answer")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise GuestError(f"agent on port {self.port}: {request['op']}: {answer['error']}")
        return answer


def argv(command: str | Sequence[str]) -> list[str]:
    """A string is for bash, a sequence is argv."""
    return ["bash", "-c", command] if isinstance(command, str) else list(command)
