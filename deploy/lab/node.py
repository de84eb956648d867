"""A node is a guest as a test sees it: commands, files, faults, and the rdma-gate process that runs in it."""

import json
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deploy.lab.guest_rpc import Agent, GuestError, Result

POD_UID = 1000
PROGRAM_MOUNT = "/opt/rdma-gate"
CONFIG = "/etc/rdma-gate.yaml"
LOG = "/var/log/rdma-gate.log"
PID_FILE = "/run/lab/program.pid"
STARTED_FILE = "/run/lab/program.json"
COMMAND = ["python3", "-m", "exporter", "serve", "--config", CONFIG]
ENVIRONMENT = {
    "PYTHONPATH": f"{PROGRAM_MOUNT}:{PROGRAM_MOUNT}/site-packages",
    "PYTHONUNBUFFERED": "1",
}
# An ended process is a zombie for a moment, and another may get its number.
IS_ALIVE = f'grep -qsz exporter "/proc/$(cat {PID_FILE} 2> /dev/null || echo none)/cmdline"'
STOP = f"""
pid=$(cat {PID_FILE} 2> /dev/null) || exit 0
if {IS_ALIVE}; then
    kill -CONT "$pid"; kill -TERM "$pid"
    for _ in $(seq 50); do {IS_ALIVE} || break; sleep 0.1; done
    if {IS_ALIVE}; then kill -KILL -- "-$pid"; fi
fi
rm -f {PID_FILE}
"""


@dataclass(frozen=True)
class Node:
    """A running guest. `address` is in the test network; the ports are on 127.0.0.1 of the host."""

    name: str
    address: str
    agent_port: int
    api_port: int
    pid: int

    @property
    def agent(self) -> Agent:
        """The way in."""
        return Agent(self.agent_port)

    @property
    def api_url(self) -> str:
        """Where the rdma-gate node in the guest is reached from the host."""
        return f"http://127.0.0.1:{self.api_port}"

    def run(
        self,
        command: str | Sequence[str],
        *,
        uid: int = 0,
        timeout: float = 60,
        memlock_kib: int | None = None,
        stdin: str = "",
    ) -> Result:
        """Run argv, or a string by bash, and wait; after `timeout` seconds its process group is killed."""
        memlock = None if memlock_kib is None else str(memlock_kib * 1024)
        return self.agent.run(command, uid=uid, timeout=timeout, memlock=memlock, stdin=stdin)

    def begin(self, command: str | Sequence[str], **options: Any) -> "Future[Result]":
        """`run` in a thread: for the server side of a test."""
        future: Future[Result] = Future()

        def work() -> None:
            try:
                future.set_result(self.run(command, **options))
            # The future carries it to whoever waits.
            except Exception as error:
                future.set_exception(error)

        threading.Thread(target=work, daemon=True, name=f"{self.name}: {command}").start()
        return future

    def put(self, path: str, content: bytes | str, mode: int = 0o644) -> None:
        """Write a file in the guest."""
        self.agent.put(path, content.encode() if isinstance(content, str) else content, mode)

    def fault(self, name: str, *arguments: str) -> None:
        """Make a fault, in the words of the command line: drop-4791 and in, for example."""
        from deploy.lab import faults

        faults.apply(self, name, *arguments)

    def restore(self) -> None:
        """Undo all faults."""
        from deploy.lab import faults

        faults.restore(self)

    def start(self, config: Path | str | None = None, *, memlock_kib: int | None = None) -> int:
        """Start the pushed program as uid 1000 and return its pid; `config` is a file or its text."""
        if self.run(["mountpoint", "-q", PROGRAM_MOUNT]).rc != 0:
            raise GuestError(f"{self.name}: no program in the guest (lab push)")
        if config is not None:
            self.put(CONFIG, config.read_bytes() if isinstance(config, Path) else config)
        self.stop()
        return self._spawn(memlock_kib, planned=memlock_kib)

    def restart(self, *, memlock_kib: int | None) -> int:
        """Start it again with another limit, remembering the one it was started with."""
        started = self.started()
        if started is None:
            raise GuestError(f"{self.name}: no node process to restart (lab start-node)")
        self.end()
        return self._spawn(memlock_kib, planned=started["planned_kib"])

    def restart_if_altered(self) -> None:
        """A process that a fault killed or limited comes back as it was started."""
        started = self.started()
        if started is None or (self.is_running() and started["memlock_kib"] == started["planned_kib"]):
            return
        self.restart(memlock_kib=started["planned_kib"])

    def stop(self) -> None:
        """End the process; it will not come back."""
        self.end()
        self.run(["rm", "-f", STARTED_FILE])

    def end(self) -> None:
        """SIGTERM, five seconds, SIGKILL to its process group. `resume` starts it again as it was."""
        self.run(STOP, timeout=20)

    def resume(self) -> None:
        """Start what `end` ended, if there was something."""
        started = self.started()
        if started is not None:
            self.restart(memlock_kib=started["memlock_kib"])

    def started(self) -> dict[str, Any] | None:
        """How the program was started, in KiB of memory lock (None: unlimited), or None if it was not."""
        found = self.run(["cat", STARTED_FILE])
        return json.loads(found.out) if found.rc == 0 else None

    def is_running(self) -> bool:
        """Whether the program's process lives."""
        return self.run(IS_ALIVE).rc == 0

    def log(self) -> str:
        """What the program has written so far."""
        return self.run(f"cat {LOG} 2> /dev/null").out

    def _spawn(self, memlock_kib: int | None, *, planned: int | None) -> int:
        memlock = "unlimited" if memlock_kib is None else str(memlock_kib * 1024)
        pid = self.agent.spawn(COMMAND, log=LOG, uid=POD_UID, memlock=memlock, env=ENVIRONMENT)
        self.put(PID_FILE, f"{pid}\n")
        self.put(STARTED_FILE, json.dumps({"memlock_kib": memlock_kib, "planned_kib": planned}))
        return pid
