"""``make image``: build deploy/Dockerfile with the engine that is here, and on demand write the image to a file.

python -m deploy.image [--engine docker|podman|buildah] [--base NAME] [--archive FILE]
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from deploy.image.base import make_base
from deploy.image.engine import Build, choose
from deploy.image.packages_from import secrets_of_this_machine

REPOSITORY = Path(__file__).resolve().parents[2]


def main() -> int:
    """Build, say each step, and say what came out. 0, or 1 with the step that failed."""
    wanted = _arguments()
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rdma-gate-image"
    started = time.monotonic()
    try:
        name = build(cache, wanted)
    except (ValueError, OSError, subprocess.CalledProcessError) as error:
        print(f"image: {error}", file=sys.stderr)
        return 1
    print(f"{name} is built, in {time.monotonic() - started:.0f} s")
    return 0


def build(cache: Path, wanted: argparse.Namespace) -> str:
    """Build the image, and the archive where one is wanted; return the image's name."""
    engine = choose(cache, wanted.engine)
    version = project_version()
    name = f"{wanted.name}:{version}"
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as folder:
        base = wanted.base
        if not base and not engine.pulls:
            print(f"{engine.program}: making a base of Debian's packages, since no registry is asked", flush=True)
            base = make_base(engine, Path(folder))
        print(f"{engine.program}: building {name}", flush=True)
        arguments = {"VERSION": version, "REVISION": revision()}
        secrets = secrets_of_this_machine(Path(folder))
        subprocess.run(engine.build(Build(name, base, arguments, secrets)), check=True, cwd=REPOSITORY)
    if wanted.archive:
        wanted.archive.unlink(missing_ok=True)
        subprocess.run(engine.save(name, wanted.archive.resolve()), check=True)
        print(
            f"{wanted.archive}: {wanted.archive.stat().st_size / 2**20:.0f} MiB, `ctr -n k8s.io images import` takes it"
        )
    return name


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


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m deploy.image", description="build the container image")
    parser.add_argument("--engine", default="", choices=["docker", "podman", "buildah"])
    parser.add_argument(
        "--base", default="", help="an image that is there or can be pulled, in place of the Dockerfile's"
    )
    parser.add_argument("--name", default="rdma-gate")
    parser.add_argument("--archive", type=Path, help="write the image here too")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
