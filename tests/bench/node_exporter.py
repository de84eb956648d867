"""Debian's node_exporter, the peer that every SRE knows; unpacked into the lab's cache, so no service is installed."""

import shutil
import subprocess
from pathlib import Path

from deploy.lab import cache

NAME = "prometheus-node-exporter"


def find_node_exporter() -> Path | None:
    """Return its path: on PATH, in the cache, or fetched by apt into the cache; None where apt does not have it."""
    if found := shutil.which(NAME):
        return Path(found)
    folder = cache.directory() / "node-exporter"
    program = folder / "usr" / "bin" / NAME
    if not program.exists():
        try:
            _fetch(folder)
        except (OSError, ValueError, subprocess.CalledProcessError):
            return None
    return program


def _fetch(target: Path) -> None:
    with cache.whole(target) as folder:
        subprocess.run(["apt-get", "download", "-qq", NAME], cwd=folder, check=True, capture_output=True)
        (package,) = folder.glob("*.deb")
        subprocess.run(["dpkg", "-x", package, folder], check=True, capture_output=True)
        package.unlink()
