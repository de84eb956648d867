"""The runner starts where there is nothing but itself: no Python, no libc, no shell, nothing writable, no privilege."""

import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import time
import urllib.request
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from deploy.ports import free_port
from deploy.runner.tree import copy_distribution
from exporter.keys import pod_key
from exporter.pods.manifest import COMMAND, RUNNER, SETTINGS, STATE

LIMIT_SECONDS = 300.0
UID = 12345
# What the runtime does for a container: a root that nobody can write, an emptyDir in it, and an unprivileged user.
CONTAINER = """\
set -e
mount --bind "$1" "$1"
mount -o remount,ro,bind "$1"
mount --bind "$2" "$1/{state}"
root=$1
shift 2
exec chroot --userspec={uid}:{uid} --groups= "$root" "$@"
"""


@dataclass
class Image:
    """A root directory as a container sees it, with the runner and its settings mounted."""

    root: Path
    state: Path
    port: int

    def start(self, *command: str) -> subprocess.Popen[str]:
        script = CONTAINER.format(uid=UID, state=STATE.strip("/"))
        argv = ["unshare", "-m", "sh", "-c", script, "sh", str(self.root), str(self.state), *command]
        misleading = {"PYTHONHOME": "/nonsense", "PYTHONPATH": "/nonsense", "LD_LIBRARY_PATH": "/nonsense"}
        environment = {"PATH": os.environ["PATH"], "LD_PRELOAD": "", **misleading}
        return subprocess.Popen(argv, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


@pytest.fixture(params=["an empty image", "an image of busybox"])
def image(tmp_path: Path, tree: Path, request: pytest.FixtureRequest) -> Image:
    if os.geteuid() != 0:
        pytest.skip("not run: only root may make a container's root")
    if subprocess.run(["unshare", "-m", "true"], check=False, capture_output=True).returncode != 0:
        pytest.skip("not run: no mount namespace to be had here")
    root, state = tmp_path / "root", tmp_path / "state"
    for folder in (RUNNER, SETTINGS, STATE):
        (root / folder.strip("/")).mkdir(parents=True)
    shutil.copytree(tree, root / RUNNER.strip("/"), dirs_exist_ok=True, copy_function=os.link)
    if request.param == "an image of busybox":
        if (busybox := shutil.which("busybox")) is None:
            pytest.skip("not run: busybox: not on PATH")
        (root / "bin").mkdir()
        shutil.copy2(busybox, root / "bin" / "sh")
    state.mkdir()
    state.chmod(0o777)
    image = Image(root, state, free_port(0))
    settings = {
        "node": "gpu-001",
        "roles": ["node"],
        "vantage": "pod",
        "listen": f"127.0.0.1:{image.port}",
        "state_dir": STATE,
        "node_key_file": f"{SETTINGS}/node.key",
    }
    (root / SETTINGS.strip("/") / "rdma-gate.yaml").write_text(json.dumps(settings))
    (root / SETTINGS.strip("/") / "node.key").write_text(pod_key(b"m" * 32, "gpu-001", "uid").hex())
    return image


def test_the_runner_serves_as_an_unprivileged_user_over_a_root_that_nobody_can_write(image: Image) -> None:
    runner = image.start(*COMMAND)
    try:
        assert answer(runner, image.port) == b"rdma-gate is ready.\n"
        assert effective_capabilities(runner.pid) == (UID, 0)
        assert (image.state / "lock").exists()
    finally:
        runner.kill()
        runner.wait()


def test_without_one_of_its_libraries_it_does_not_start_so_none_comes_from_elsewhere(image: Image) -> None:
    (image.root / RUNNER.strip("/") / "glibc" / "libc.so.6").unlink()

    runner = image.start(*COMMAND)
    said, _ = runner.communicate(timeout=LIMIT_SECONDS)

    assert runner.returncode == 127
    assert "libc.so.6: cannot open shared object file" in said


def test_a_copy_with_other_times_loads_compiled_modules_alone(tree: Path, tmp_path: Path) -> None:
    shutil.copytree(tree, tmp_path / "copy", copy_function=shutil.copy, symlinks=True)
    loader, library_path = tmp_path / "copy" / "ld.so", ":".join(str(tree / name) for name in ("glibc", "lib", "gcc"))
    python = [str(loader), "--library-path", library_path, str(tmp_path / "copy" / "bin" / "python3")]

    loading = [*python, "-I", "-S", "-B", "-v", "-c", "import aiohttp, exporter.program.node"]
    done = subprocess.run(loading, check=False, capture_output=True, text=True, timeout=LIMIT_SECONDS)

    loaded = re.findall(r"^# code object from '?([^'\n]+?)'?$", done.stderr, re.MULTILINE)
    assert done.returncode == 0, done.stderr
    assert len(loaded) > 300
    assert [file for file in loaded if not file.endswith(".pyc")] == []


def test_a_package_is_placed_as_further_names_of_its_files(tmp_path: Path) -> None:
    installed = Path(str(importlib.metadata.distribution("msgspec").locate_file("msgspec/__init__.py")))
    if installed.stat().st_dev != tmp_path.stat().st_dev:
        pytest.skip("not run: the packages and the temporary directory are on two filesystems")

    copy_distribution("msgspec", tmp_path, os.link)

    assert (tmp_path / "msgspec" / "__init__.py").samefile(installed)
    assert not (tmp_path / "msgspec" / "__pycache__").exists()


def answer(runner: subprocess.Popen[str], port: int) -> bytes:
    """What it answers once it does."""
    deadline = time.monotonic() + LIMIT_SECONDS
    while time.monotonic() < deadline:
        assert runner.poll() is None, runner.stdout and runner.stdout.read()
        with suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/-/ready", timeout=5) as answered:
            return answered.read()
        time.sleep(0.05)
    raise AssertionError(f"port {port}: nothing answers, a runner wanted")


def effective_capabilities(pid: int) -> tuple[int, int]:
    """The process's user and its effective capabilities, as a number."""
    status = Path(f"/proc/{pid}/status").read_text()
    numbers = {name: value.split() for name, _, value in (line.partition(":") for line in status.splitlines())}
    return int(numbers["Uid"][1]), int(numbers["CapEff"][0], 16)
