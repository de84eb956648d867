"""The image of this checkout, as ``make image`` builds it, once for each content that goes into it.

It lies in the lab's cache by a digest of the files, whatever git says of them.
"""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from deploy.image.build import REPOSITORY, Wanted, build, project_version
from deploy.lab import cache
from deploy.lab.progress import Say

SOURCES = (
    *("exporter", "probes", "deploy/runner", "deploy/image", "deploy/Dockerfile", "deploy/Dockerfile.dockerignore"),
    *("requirements.lock", "pyproject.toml", "README.md", "LICENSE"),
)
KEPT = 2
FILE = "rdma-gate.tar"


def name() -> str:
    """The name that a node knows the image by, once the archive is imported there."""
    return f"docker.io/library/{Wanted().name}:{project_version()}"


def archive(say: Say) -> Path:
    """Return the archive, built where it is not there yet.

    ValueError where there is no engine, OSError or CalledProcessError where a step fails.
    """
    with cache.lock("product-image"):
        return kept(cache.directory() / "k8s" / "images", content_key(REPOSITORY), say, _build)


def kept(folder: Path, key: str, say: Say, make: Callable[[Path], object]) -> Path:
    """Return the archive of this key, made where it is not there; of others the newest stay. Callers hold the lock."""
    place = folder / f"product-{key}"
    if not (place / FILE).exists():
        say(f"the image of this checkout, {key}: not there yet, building it")
        with cache.whole(place) as work:
            make(work / FILE)
    place.touch()
    for old in sorted(folder.glob("product-*"), key=lambda one: one.stat().st_mtime_ns)[:-KEPT]:
        shutil.rmtree(old)
    say(f"the image of this checkout: {place / FILE}, {(place / FILE).stat().st_size / 2**20:.0f} MiB")
    return place / FILE


def content_key(repository: Path) -> str:
    """A key for the names and the contents of all that goes into the image."""
    return cache.digest(part for file in _files(repository) for part in (str(file), (repository / file).read_bytes()))


def _files(repository: Path) -> Iterator[Path]:
    for source in SOURCES:
        path = repository / source
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if file.is_file() and "__pycache__" not in file.parts:
                yield file.relative_to(repository)


def _build(target: Path) -> None:
    build(Wanted(archive=target))
