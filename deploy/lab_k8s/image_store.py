"""containerd's store with the cluster's images in it, filled on this host.

An emulated machine needs five minutes to unpack what this host unpacks in seconds; containerd reads a store that
another one has filled, wherever it lies.
"""

import contextlib
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from deploy.lab import cache
from deploy.lab.image import Image
from deploy.lab.progress import Say

PROGRAMS = ("containerd", "ctr")
ANSWER_LIMIT_SECONDS = 30
IMPORT_LIMIT_SECONDS = 300
SETTINGS = """\
version = 2
root = "{store}"
state = "{work}/state"
disabled_plugins = ["io.containerd.grpc.v1.cri"]
[grpc]
address = "{work}/socket"
"""


class NoStoreError(Exception):
    """The store could not be filled; the message holds what containerd said last."""


def filled(image: Image, archives: Sequence[Path], say: Say) -> Path:
    """Return the store that holds these archives' images, filled by the guest image's own containerd if need be.

    NoStoreError where an archive cannot be imported.
    """
    folder = cache.directory() / "k8s" / "stores"
    target = folder / cache.digest([image.name, *(archive.read_bytes() for archive in archives)])
    with cache.lock("image-store"):
        if not target.exists():
            say(f"unpacking {len(archives)} images into containerd's store")
            for old in folder.glob("*"):
                _remove(old)
            with cache.whole(target) as store:
                _fill(store, image, archives)
    return target


def _fill(store: Path, image: Image, archives: Sequence[Path]) -> None:
    with tempfile.TemporaryDirectory(prefix="rdma-gate-store-") as folder:
        work = Path(folder)
        for name in PROGRAMS:
            dump = f"dump /usr/bin/{name} {work / name}"
            subprocess.run(["debugfs", "-R", dump, image.root], check=True, capture_output=True)
            (work / name).chmod(0o755)
        (work / "settings.toml").write_text(SETTINGS.format(store=store, work=work))
        with _containerd(work):
            for archive in archives:
                _ctr(work, IMPORT_LIMIT_SECONDS, "images", "import", str(archive))


@contextlib.contextmanager
def _containerd(work: Path) -> Iterator[None]:
    with (work / "log").open("wb") as log:
        argv = [str(work / "containerd"), "--config", str(work / "settings.toml")]
        running = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        deadline = time.monotonic() + ANSWER_LIMIT_SECONDS
        while not _answers(work):
            if running.poll() is not None or time.monotonic() > deadline:
                raise NoStoreError(f"containerd does not answer: {_last(work / 'log')}")
            time.sleep(0.1)
        yield
    finally:
        running.terminate()
        running.wait(ANSWER_LIMIT_SECONDS)


def _answers(work: Path) -> bool:
    with contextlib.suppress(NoStoreError):
        _ctr(work, ANSWER_LIMIT_SECONDS, "images", "list", "--quiet")
        return True
    return False


def _ctr(work: Path, limit_seconds: float, *words: str) -> None:
    argv = [str(work / "ctr"), "--address", str(work / "socket"), "--namespace", "k8s.io", *words]
    done = subprocess.run(argv, check=False, capture_output=True, text=True, timeout=limit_seconds)
    if done.returncode != 0:
        raise NoStoreError(
            f"ctr {' '.join(words)}: exit status {done.returncode} found, 0 wanted: {done.stderr.strip()}"
        )


def _last(log: Path) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-5:])


def _remove(old: Path) -> None:
    # Layers hold read-only folders, which only root may empty; the lab's guests need root anyway.
    subprocess.run(["rm", "-rf", "--one-file-system", old], check=True)
