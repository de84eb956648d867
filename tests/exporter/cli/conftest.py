"""The command line as a user types it, in a process of its own where an exit code is at stake."""

import json
import runpy
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).parents[3]


@dataclass(frozen=True)
class Said:
    """What a command answered."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def gate(tmp_path: Path) -> Callable[..., Said]:
    """``gate("judge", "perftest", stdin=...)`` runs rdma-gate in an empty home and returns what it said."""

    def call(*arguments: object, stdin: str = "") -> Said:
        done = subprocess.run(
            [sys.executable, "-m", "exporter", *map(str, arguments)],
            cwd=REPOSITORY,
            env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path / "home"), "XDG_STATE_HOME": str(tmp_path / "state")},
            check=False, input=stdin, capture_output=True, text=True, timeout=60,
        )  # fmt: skip
        return Said(done.returncode, done.stdout, done.stderr)

    return call


@pytest.fixture(scope="session")
def h100x8(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recorded machine of eight GPUs and eight HCAs, not to be changed."""
    hosts = runpy.run_path(str(REPOSITORY / "tests/fixtures/hosts/make_hosts.py"))["HOSTS"]
    return hosts["h100x8"]().write(tmp_path_factory.mktemp("h100x8"))


@pytest.fixture
def config(tmp_path: Path, h100x8: Path) -> Callable[..., Path]:
    """``config(plan=...)`` writes settings over the recorded machine and returns their path."""

    def write(**settings: object) -> Path:
        path = tmp_path / "rdma-gate.yaml"
        defaults = {"node": "gpu-001", "state_dir": str(tmp_path / "state"), "host_root": str(h100x8)}
        path.write_text(json.dumps({**defaults, "listen": "127.0.0.1:9", **settings}))
        return path

    return write
