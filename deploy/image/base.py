"""A minimal Debian made from its packages here, as the base where no registry can be reached."""

import os
import subprocess
from pathlib import Path

from deploy.image.engine import Engine

SUITE = "bookworm"
NAME = "localhost/rdma-gate-base:12"
# Neither documents nor translations nor the logs of making it.
LEFT_OUT = ("/usr/share/doc/*", "/usr/share/man/*", "/usr/share/locale/*", "/usr/share/info/*")
KEPT = "/usr/share/doc/*/copyright"


def make_base(engine: Engine, work: Path) -> str:
    """Make the base and keep it in the engine's store; return its name. CalledProcessError where a step fails."""
    archive = work / "base.tar"
    subprocess.run(mmdebstrap(archive), check=True, env={**os.environ, "SOURCE_DATE_EPOCH": "0"})
    done = subprocess.run(engine.call("from", "scratch"), check=True, capture_output=True, text=True)
    container = done.stdout.strip()
    try:
        subprocess.run(engine.call("add", "--quiet", container, str(archive), "/"), check=True)
        subprocess.run(engine.call("commit", "--quiet", "--format=docker", container, NAME), check=True)
    finally:
        subprocess.run(engine.call("rm", container), check=True, capture_output=True)
        archive.unlink()
    return NAME


def mmdebstrap(archive: Path) -> list[str]:
    """The call that makes the base. Packages added to it later leave the same out."""
    without = [f"--dpkgopt=path-exclude={pattern}" for pattern in LEFT_OUT]
    cleaning = "--customize-hook=rm -rf $1/var/log/* $1/var/cache/* $1/etc/resolv.conf $1/etc/hostname"
    named = ["--variant=minbase", "--quiet", *without, f"--dpkgopt=path-include={KEPT}", cleaning]
    return ["mmdebstrap", *named, SUITE, str(archive)]
