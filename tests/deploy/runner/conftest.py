import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[3]
LIMIT_SECONDS = 300.0


@pytest.fixture(scope="session")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The tree as the image's build makes it, with the tools of RDMA that this machine has."""
    for tool in ("ldd", "unshare", "chroot"):
        if shutil.which(tool) is None:
            pytest.skip(f"not run: {tool}: not on PATH")
    target = tmp_path_factory.mktemp("runner") / "tree"
    making = [sys.executable, "-m", "deploy.runner.tree", str(target), str(REPOSITORY)]
    done = subprocess.run(making, capture_output=True, check=False, cwd=REPOSITORY, text=True, timeout=LIMIT_SECONDS)
    assert done.returncode == 0, done.stderr
    assert f"{target}: " in done.stdout
    yield target
    shutil.rmtree(target)
