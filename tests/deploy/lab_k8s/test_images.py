"""The images as an engine that knows the formats takes and starts them."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from deploy.lab.host import find_tool
from deploy.lab_k8s import images
from deploy.lab_k8s.image_archive import OneLayerImage, write

LIMIT_SECONDS = 300.0
Buildah = Callable[..., str]
PROGRAM = """\
#include <stdio.h>
int main(int count, char **words) { printf("%s %d\\n", words[0], count); return 0; }
"""


@pytest.fixture(scope="session")
def busybox() -> Path:
    found = find_tool("busybox")
    if found is None:
        pytest.skip("not run: a static busybox: not on PATH")
    return Path(found)


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A static program that prints its name and the number of its words."""
    if (compiler := shutil.which("cc")) is None:
        pytest.skip("not run: cc: not on PATH")
    folder = tmp_path_factory.mktemp("program")
    (folder / "main.c").write_text(PROGRAM)
    done = subprocess.run(
        [compiler, "-static", "-o", "program", "main.c"], cwd=folder, check=False, capture_output=True, text=True
    )
    if done.returncode != 0:
        pytest.skip(f"not run: cc makes no static program here: {done.stderr.strip()[-200:]}")
    return folder / "program"


@pytest.fixture
def buildah(tmp_path: Path) -> Iterator[Buildah]:
    """``buildah("images")`` is what it says, on a store that is the test's own."""
    if shutil.which("buildah") is None:
        pytest.skip("not run: buildah: not on PATH")
    if os.geteuid() != 0:
        pytest.skip("not run: only root may start an image by chroot")
    own = ["--root", f"{tmp_path}/images", "--runroot", f"{tmp_path}/run", "--storage-driver", "vfs"]

    def call(*words: str) -> str:
        done = subprocess.run(
            ["buildah", *own, *words], check=False, capture_output=True, text=True, timeout=LIMIT_SECONDS
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    yield call
    call("rm", "--all")


def started(buildah: Buildah, tmp_path: Path, image: OneLayerImage, *command: str) -> str:
    """What the command, or else the entrypoint, prints in a container of the image."""
    write(tmp_path / "image.tar", image)
    buildah("pull", "--quiet", f"docker-archive:{tmp_path}/image.tar")
    container = buildah("from", "--pull-never", image.name).strip()
    return buildah("run", "--isolation=chroot", container, "--", *(command or image.entrypoint))


def test_the_pause_image_starts_its_program_and_is_nobodys(buildah: Buildah, program: Path, tmp_path: Path) -> None:
    said = started(buildah, tmp_path, images.pause(program))

    config = json.loads(buildah("inspect", "--type=image", images.PAUSE))["Docker"]["config"]
    assert said == "/pause 1\n"
    assert (config["Entrypoint"], config["User"]) == (["/pause"], "65535:65535")


def test_the_plugin_is_where_its_manifest_starts_it_with_the_names_of_pci_classes(
    buildah: Buildah, program: Path, tmp_path: Path
) -> None:
    image = images.rdma_plugin(program)

    assert started(buildah, tmp_path, image, "/usr/bin/k8s-rdma-shared-dp", "-v") == "/usr/bin/k8s-rdma-shared-dp 2\n"
    assert b"C 02  Network controller\n" in image.files["/usr/share/hwdata/pci.ids"][0]


def test_the_training_job_has_a_shell_a_user_a_place_to_write_and_nothing_of_rdma(
    buildah: Buildah, busybox: Path, tmp_path: Path
) -> None:
    script = "id; stat -c %a /tmp; touch /tmp/mine; ls -l /tmp/mine | wc -l; sleep 0; find / -xdev -name 'lib*.so*'"

    said = started(buildah, tmp_path, images.workload(busybox), "/bin/sh", "-c", script)

    user, *rest = said.splitlines()
    assert re.match(r"uid=1000\(job\) gid=1000\(job\)", user)
    assert rest == ["1777", "1"]


def test_every_applet_but_busybox_itself_is_a_link(busybox: Path) -> None:
    image = images.workload(busybox)

    assert {"/bin/sh", "/bin/sleep", "/bin/cat", "/bin/ip"} <= image.symlinks.keys()
    assert set(image.symlinks.values()) == {"busybox"}
    assert "/bin/busybox" not in image.symlinks
