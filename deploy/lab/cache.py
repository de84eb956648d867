"""Everything the lab makes lies in one cache outside the tree, and is there whole or not at all."""

import contextlib
import fcntl
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent


def directory() -> Path:
    """$RDMA_GATE_LAB_CACHE or ~/.cache/rdma-gate-lab."""
    chosen = os.environ.get("RDMA_GATE_LAB_CACHE")
    return Path(chosen).resolve() if chosen else Path.home() / ".cache" / "rdma-gate-lab"


def digest(parts: Iterable[bytes | str]) -> str:
    """A short key for this content."""
    total = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        total.update(len(data).to_bytes(8, "big") + data)
    return total.hexdigest()[:16]


@contextlib.contextmanager
def lock(name: str, waiting: Callable[[], None] = lambda: None) -> Iterator[None]:
    """One process at a time; the kernel lets go of it when the process dies. ``waiting`` is told of a wait."""
    directory().mkdir(parents=True, exist_ok=True)
    with (directory() / f"{name}.lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waiting()
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextlib.contextmanager
def whole(target: Path) -> Iterator[Path]:
    """Fill a temporary directory, which becomes `target` only if nothing went wrong."""
    target.parent.mkdir(parents=True, exist_ok=True)
    clear_interrupted(target.parent)
    work = Path(tempfile.mkdtemp(prefix=".half-", dir=target.parent))
    work.chmod(0o755)
    try:
        yield work
        shutil.rmtree(target, ignore_errors=True)
        work.rename(target)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def clear_interrupted(parent: Path) -> None:
    """Callers hold the lock, so that no live build loses its directory."""
    for left in parent.glob(".half-*"):
        shutil.rmtree(left, ignore_errors=True)
