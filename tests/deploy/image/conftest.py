"""The image is built once for all tests, and only where somebody asks for these minutes.

RDMA_GATE_IMAGE_TESTS=build builds it; the name of an archive that ``make image`` wrote takes that one.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.deploy.image.container import LIMIT_SECONDS, Image, unpack

REPOSITORY = Path(__file__).resolve().parents[3]
ASKED = os.environ.get("RDMA_GATE_IMAGE_TESTS", "")


@pytest.fixture(scope="session")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not ASKED:
        pytest.skip("not run: RDMA_GATE_IMAGE_TESTS is not set (it takes minutes): build, or an archive, wanted")
    for tool in ("unshare", "chroot", "ip"):
        if os.geteuid() != 0 or shutil.which(tool) is None:
            pytest.skip(f"not run: root and {tool} are needed to start an image without an engine")
    if ASKED != "build":
        return Path(ASKED)
    if all(shutil.which(engine) is None for engine in ("docker", "podman", "buildah")):
        pytest.skip("not run: no engine to build an image with")
    file = tmp_path_factory.mktemp("image") / "rdma-gate.tar"
    building = [sys.executable, "-m", "deploy.image", "--archive", str(file)]
    subprocess.run(building, check=True, cwd=REPOSITORY, timeout=LIMIT_SECONDS)
    return file


@pytest.fixture(scope="session")
def image(archive: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Image]:
    root = tmp_path_factory.mktemp("root")
    yield unpack(archive, root)
    shutil.rmtree(root)


@pytest.fixture
def foreign(image: Image, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """A root of the Debian release and packages that the test names ("" is an empty one), with the runner in it."""
    suite, packages = request.param
    root = tmp_path / "root"
    if suite:
        if shutil.which("mmdebstrap") is None:
            pytest.skip("not run: mmdebstrap: not on PATH")
        include = [f"--include={packages}"] if packages else []
        making = ["mmdebstrap", "--quiet", "--variant=minbase", *include, suite, str(root)]
        done = subprocess.run(making, check=False, capture_output=True, text=True, timeout=LIMIT_SECONDS)
        if done.returncode != 0:
            pytest.skip(f"not run: no {suite} to be had: {done.stderr.strip()[-200:]}")
    runner = image.root / "opt" / "rdma-gate-runner"
    shutil.copytree(runner, root / "rdma-gate", copy_function=os.link, symlinks=True)
    yield root
    shutil.rmtree(root)
