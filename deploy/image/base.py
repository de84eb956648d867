"""A minimal Debian made from its packages here, as the base where no registry can be reached."""

import hashlib
import os
import subprocess
from pathlib import Path

from deploy.image.engine import Engine

SUITE = "bookworm"
# Neither documents nor translations nor the logs of making it.
LEFT_OUT = ("/usr/share/doc/*", "/usr/share/man/*", "/usr/share/locale/*", "/usr/share/info/*")
HOOKS = "/usr/share/mmdebstrap/hooks"
KEPT = "/usr/share/doc/*/copyright"


def make_base(engine: Engine, work: Path) -> str:
    """Make the base and keep it in the engine's store; return its name. CalledProcessError where a step fails."""
    archive, made = work / "base.tar", name()
    subprocess.run(mmdebstrap(archive), check=True, env={**os.environ, "SOURCE_DATE_EPOCH": "0"})
    done = subprocess.run(engine.call("from", "scratch"), check=True, capture_output=True, text=True)
    container = done.stdout.strip()
    try:
        subprocess.run(engine.call("add", "--quiet", container, str(archive), "/"), check=True)
        subprocess.run(engine.call("commit", "--quiet", "--format=docker", container, made), check=True)
    finally:
        subprocess.run(engine.call("rm", container), check=True, capture_output=True)
        archive.unlink()
    return made


def name() -> str:
    """The base's name in the engine's store, another one when it is made in another way."""
    how = hashlib.sha256("\n".join(mmdebstrap(Path())).encode()).hexdigest()[:16]
    return f"localhost/rdma-gate-base:{how}"


def mmdebstrap(archive: Path) -> list[str]:
    """The call that makes the base. Packages added to it later leave the same out."""
    without = [f"--dpkgopt=path-exclude={pattern}" for pattern in LEFT_OUT]
    cleaning = "--customize-hook=rm -rf $1/var/log/* $1/var/cache/* $1/etc/resolv.conf $1/etc/hostname"
    # /bin and the like are links from the start. Else a package comes in that makes them so, and all of perl with it.
    merged = [f"--hook-dir={HOOKS}/maybe-merged-usr", "--include=usr-is-merged"]
    named = ["--variant=minbase", "--quiet", *without, f"--dpkgopt=path-include={KEPT}", *merged, cleaning]
    return ["mmdebstrap", *named, SUITE, str(archive)]
