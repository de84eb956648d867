"""The program as a user starts it: a process of its own on a free port, over a recorded machine."""

import contextlib
import json
import os
import runpy
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from deploy.ports import free_port

REPOSITORY = Path(__file__).parents[3]
LIMIT_SECONDS = 60.0
PLAN = """\
cluster: lab
reviewed: {by: ana, on: 2026-11-30, ref: "git:3f2c9e1"}
pools:
  - name: h100
    nodes: {names: [gpu-001]}
    hcas:
      compute: {match: {driver: mlx5_core, link_layer: Ethernet}, count: 8}
    checks:
      access.ports: {hcas: compute, rate: 400Gbit/s, every: 2s}
      access.device_files: {hcas: compute, every: 2s}
      access.gids: {hcas: compute, every: 2s}
"""


@dataclass
class Served:
    """One process of ``rdma-gate serve`` with its folder, settings and log."""

    folder: Path
    settings: dict[str, Any]
    tools: str = ""
    process: subprocess.Popen[bytes] | None = field(default=None, repr=False)

    @property
    def port(self) -> int:
        return int(self.settings["listen"].rpartition(":")[2])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def log(self) -> str:
        return (self.folder / "serve.log").read_text()

    def write_settings(self) -> Path:
        config = self.folder / "rdma-gate.yaml"
        config.write_text(json.dumps(self.settings))
        return config

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "exporter", "--config", str(self.write_settings()), *arguments]

    def start(self) -> "Served":
        with (self.folder / "serve.log").open("ab") as log:
            self.process = subprocess.Popen(
                self.command("serve"),
                cwd=REPOSITORY,
                env={**os.environ, "PATH": f"{self.tools}:{os.environ['PATH']}"},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        self.until(lambda: self.get("/-/ready") == b"rdma-gate is ready.\n")
        return self

    def signal(self, number: signal.Signals) -> None:
        assert self.process is not None
        self.process.send_signal(number)

    def exit_code(self) -> int:
        assert self.process is not None
        return self.process.wait(LIMIT_SECONDS)

    def get(self, path: str) -> bytes:
        with urllib.request.urlopen(self.url + path, timeout=5) as answer:
            return answer.read()

    def gate(self) -> dict[str, Any]:
        return json.loads(self.get("/gate.json"))

    def node(self, name: str) -> dict[str, Any]:
        return next(one for pool in self.gate()["pools"] for one in pool["nodes"] if one["name"] == name)

    def status(self, name: str, check: str) -> str:
        return next(cell["status"] for cell in self.node(name)["cells"] if cell["check"] == check)

    def until(self, holds: Callable[[], object]) -> None:
        """Ask again and again until it holds, as long as the process lives."""
        deadline, pause = time.monotonic() + LIMIT_SECONDS, threading.Event()
        while True:
            with contextlib.suppress(OSError, StopIteration):
                if holds():
                    return
            assert self.process is None or self.process.poll() is None, self.log
            assert time.monotonic() < deadline, self.log
            pause.wait(0.05)


@pytest.fixture(scope="session")
def h100x8(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recorded machine of eight GPUs and eight HCAs, not to be changed."""
    hosts = runpy.run_path(str(REPOSITORY / "tests/fixtures/hosts/make_hosts.py"))["HOSTS"]
    return hosts["h100x8"]().write(tmp_path_factory.mktemp("h100x8"))


@pytest.fixture
def prepare(tmp_path: Path, h100x8: Path) -> Iterator[Callable[..., Served]]:
    """``prepare(name, roles=..., ...)`` writes settings; every process that was started ends with the test."""
    made: list[Served] = []

    def one(name: str = "gpu-001", *, tools: str = "", **settings: Any) -> Served:
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        defaults = {"listen": f"127.0.0.1:{free_port(0)}", "state_dir": "state", "host_root": str(h100x8)}
        made.append(Served(folder, {"node": name, **defaults, **settings}, tools))
        return made[-1]

    yield one
    for served in made:
        if served.process is not None and served.process.poll() is None:
            served.process.kill()
            served.process.wait()


def children(pid: int) -> list[int]:
    """Every process below this one."""
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            found += [int(child), *children(int(child))]
    return found


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
