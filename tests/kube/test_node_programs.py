"""What a node of a cluster runs beside kubelet: the shared device plugin, its map of RDMA devices, and pause."""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from deploy.kube.go_build import MODULES, environment

Asset = Callable[[str], Path]

LIMIT_SECONDS = 300
# It leaves a child to pause, and tells that child's process id.
WITH_A_CHILD = 'sleep 1000 & echo $!; exec "$0"'


def test_the_map_of_rdma_devices_passes_its_own_tests(tmp_path: Path) -> None:
    if shutil.which("go") is None:
        pytest.skip("not run: go is not here")
    run = subprocess.run(
        ["go", "test", "./..."],
        cwd=MODULES / "rdma-plugin" / "rdmamap",
        env=environment(str(tmp_path)),
        check=False,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGINT])
def test_pause_reaps_what_was_left_to_it_and_ends_well(asset: Asset, ending: signal.Signals) -> None:
    argv = ["sh", "-c", WITH_A_CHILD, str(asset("pause"))]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as pause:
        assert pause.stdout is not None
        child = int(pause.stdout.readline())
        try:
            os.kill(child, signal.SIGKILL)
            wait_until_reaped(child)
            pause.send_signal(ending)
            assert pause.wait(LIMIT_SECONDS) == 0
        finally:
            pause.kill()


def test_the_device_plugin_is_of_the_version_that_go_mod_asks_for(asset: Asset) -> None:
    answer = subprocess.run([asset("k8s-rdma-shared-dp"), "-version"], check=True, capture_output=True, text=True)
    assert answer.stdout.startswith("k8s-rdma-shared-dev-plugin version:v1.5.3, ")


@pytest.mark.parametrize("name", ["pause", "k8s-rdma-shared-dp"])
def test_an_image_of_one_file_is_enough(asset: Asset, name: str) -> None:
    assert b"/lib64/ld-linux" not in asset(name).read_bytes()


def wait_until_reaped(child: int) -> None:
    deadline = time.monotonic() + LIMIT_SECONDS
    with suppress(ProcessLookupError):
        while time.monotonic() < deadline:
            os.kill(child, 0)
            time.sleep(0.01)
        pytest.fail(f"process {child}: a zombie found after {LIMIT_SECONDS} s, wanted it reaped")
