"""A root directory started as a container: read-only, no network but its own loopback, nobody's user, no privilege."""

import json
import shutil
import subprocess
import tarfile
from dataclasses import dataclass
from pathlib import Path

LIMIT_SECONDS = 600.0
# Mounts stay in the namespace and go with it.
SCRIPT = """\
set -e
ip link set lo up
root=$1
shift
mount --bind "$root" "$root"
mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
mount -t proc proc "$root/proc"
mount --bind /dev/null "$root/dev/null"
mount -o remount,ro,bind "$root"
exec env -i {environment} "$(command -v chroot)" --userspec=65532:65532 --groups= "$root" "$@"
"""


@dataclass(frozen=True)
class Image:
    """An image as it lies in an archive: its configuration and the root directory that its layers make."""

    config: dict[str, object]
    root: Path


def unpack(archive: Path, to: Path) -> Image:
    """Lay the layers of a docker archive over one another."""
    with tarfile.open(archive) as outer:
        (manifest,) = json.load(outer.extractfile("manifest.json"))
        for layer in manifest["Layers"]:
            with tarfile.open(fileobj=outer.extractfile(layer)) as inner:
                inner.extractall(to, filter="fully_trusted")
            _take_away(to)
        return Image(json.load(outer.extractfile(manifest["Config"])), to)


def _take_away(root: Path) -> None:
    """An empty file .wh.NAME in a layer says that NAME of a lower layer is gone."""
    for mark in list(root.rglob(".wh.*")):
        gone = mark.with_name(mark.name.removeprefix(".wh."))
        mark.unlink()
        if gone.is_dir():
            shutil.rmtree(gone)
        else:
            gone.unlink(missing_ok=True)


def prepare(root: Path) -> Path:
    """Make what a container runtime would find or make in every image."""
    for folder in ("dev", "proc", "sys", "tmp"):
        (root / folder).mkdir(parents=True, exist_ok=True)
    (root / "dev" / "null").touch()
    root.chmod(0o755)
    return root


def add_hca(root: Path) -> None:
    """Let the kernel of this root show one ConnectX-7, as far as a library needs it to choose a driver."""
    device = root / "sys" / "class" / "infiniband" / "mlx5_0"
    verbs = root / "sys" / "class" / "infiniband_verbs"
    files = {
        verbs / "abi_version": "6",
        verbs / "uverbs0" / "ibdev": "mlx5_0",
        verbs / "uverbs0" / "abi_version": "1",
        verbs / "uverbs0" / "dev": "231:192",
        device / "node_type": "1: CA",
        device / "node_guid": "a088:c203:0012:3456",
        device / "device" / "modalias": "pci:v000015B3d00001021sv000015B3sd00000001bc02sc07i00",
        root / "dev" / "infiniband" / "uverbs0": "",
    }
    for file, text in files.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{text}\n")


def run(root: Path, *command: str, environment: str = "") -> subprocess.CompletedProcess[str]:
    """Run a command in the container; ``environment`` is written as NAME=VALUE words."""
    script = SCRIPT.format(environment=environment)
    argv = ["unshare", "-mnpf", "sh", "-c", script, "sh", str(prepare(root)), *command]
    return subprocess.run(argv, check=False, capture_output=True, text=True, timeout=LIMIT_SECONDS)
