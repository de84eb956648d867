"""QMP: one JSON request, one JSON answer, on a Unix socket that QEMU opens in the run directory."""

import contextlib
import json
import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any


class QmpError(Exception):
    """QEMU refused a command."""


class Qmp:
    """An open session. QEMU serves one at a time."""

    def __init__(self, connection: socket.socket) -> None:
        self._file = connection.makefile("rw")
        self._file.readline()
        self("qmp_capabilities")

    def __call__(self, command: str, **arguments: object) -> Any:
        """Run one command and return what it returns; events in between are skipped."""
        self._file.write(json.dumps({"execute": command, "arguments": arguments}) + "\n")
        self._file.flush()
        for line in self._file:
            answer = json.loads(line)
            if "error" in answer:
                raise QmpError(f"{command}: {answer['error']['desc']}")
            if "return" in answer:
                return answer["return"]
        raise QmpError(f"{command}: QEMU closed the session")

    def wait_until(self, query: str, wanted: set[str], limit_seconds: float) -> str:
        """Poll `query` until its status is one of those wanted."""
        deadline = time.monotonic() + limit_seconds
        while time.monotonic() < deadline:
            status = str(self(query).get("status"))
            if status in wanted:
                return status
            time.sleep(0.02)
        raise QmpError(f"{query}: not {' or '.join(sorted(wanted))} within {limit_seconds} s")

    def forwarded_ports(self) -> dict[int, int]:
        """Guest port to host port, of the ports that the host forwards."""
        table = self("human-monitor-command", **{"command-line": "info usernet"})
        rows = [line.split() for line in table.splitlines() if "HOST_FORWARD" in line]
        return {int(row[5]): int(row[3]) for row in rows}


@contextlib.contextmanager
def session(path: Path) -> Iterator[Qmp]:
    """Connect through a directory handle: socket paths longer than 107 bytes are refused."""
    directory = os.open(path.parent, os.O_PATH)
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(60)
            connection.connect(f"/proc/self/fd/{directory}/{path.name}")
            yield Qmp(connection)
    finally:
        os.close(directory)
