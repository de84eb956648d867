"""The steps from this checkout to an image, and to a file of it."""

import contextlib
import dataclasses
import datetime
import fcntl
import os
import re
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from deploy.image.engine import Build, Engine, choose
from deploy.image.packages_from import secrets_of_this_machine
from deploy.image.prepared import Keeping

REPOSITORY = Path(__file__).resolve().parents[2]


def store() -> Path:
    """Where buildah keeps what it makes: $XDG_CACHE_HOME/rdma-gate-image, or that below ~/.cache."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rdma-gate-image"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is asked for. Empty, ``engine`` is the first that answers and ``base`` the Dockerfile's or one made here."""

    name: str = "rdma-gate"
    archive: Path | None = None
    engine: str = ""
    base: str = ""
    fresh: bool = False
    store: Path = field(default_factory=store)


def build(wanted: Wanted) -> str:
    """Build the image, and the archive where one is wanted; return the image's name.

    ValueError where there is no engine, CalledProcessError where a step fails.
    """
    engine = choose(wanted.store, wanted.engine)
    version = project_version()
    name = f"{wanted.name}:{version}"
    with _alone(wanted.store), tempfile.TemporaryDirectory(dir=wanted.store) as folder:
        arguments = {"VERSION": version, "REVISION": revision()}
        secrets = secrets_of_this_machine(Path(folder))
        order = Build(name, wanted.base, arguments, secrets, fresh=wanted.fresh)
        if engine.pulls:
            _build(engine, order)
        else:
            keeping = Keeping(engine, REPOSITORY, Path(folder), datetime.datetime.now(datetime.UTC), wanted.fresh)
            base = wanted.base or keeping.base()
            stages = keeping.stages(base, secrets)
            _build(engine, dataclasses.replace(order, base=base, stages=stages))
            keeping.forget_others({base, *stages.values()})
    if wanted.archive:
        _save(engine, name, wanted.archive)
    return name


@contextlib.contextmanager
def _alone(store: Path) -> Iterator[None]:
    """One build at a time in this store, so that what lies about in it is nobody's."""
    store.mkdir(parents=True, exist_ok=True)
    with (store / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _build(engine: Engine, order: Build) -> None:
    print(f"{engine.program}: building {order.name}", flush=True)
    subprocess.run(engine.build(order), check=True, cwd=REPOSITORY)


def _save(engine: Engine, name: str, archive: Path) -> None:
    archive.unlink(missing_ok=True)
    subprocess.run(engine.save(name, archive.resolve()), check=True)
    print(f"{archive}: {archive.stat().st_size / 2**20:.0f} MiB, `ctr -n k8s.io images import` takes it")


def project_version() -> str:
    """The version in pyproject.toml. ValueError where there is none."""
    found = re.search(r'^version = "(.+)"$', (REPOSITORY / "pyproject.toml").read_text(), re.MULTILINE)
    if found is None:
        raise ValueError("pyproject.toml: no version found, one wanted")
    return found[1]


def revision() -> str:
    """The commit that is checked out, marked where the tree differs; ``unknown`` outside git."""
    described = ["git", "-C", str(REPOSITORY), "describe", "--always", "--abbrev=40", "--exclude=*", "--dirty"]
    done = subprocess.run(described, check=False, capture_output=True, text=True)
    return done.stdout.strip() or "unknown"
