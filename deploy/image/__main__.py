"""``make image``: build deploy/Dockerfile with the engine that is here, and on demand write the image to a file.

python -m deploy.image [--engine docker|podman|buildah] [--base NAME] [--archive FILE] [--fresh]
"""

import argparse
import subprocess
import sys
import time
from pathlib import Path

from deploy.image.build import Wanted, build


def main() -> int:
    """Build, say each step, and say what came out. 0, or 1 with the step that failed."""
    wanted = _arguments()
    started = time.monotonic()
    try:
        name = build(wanted)
    except (ValueError, OSError, subprocess.CalledProcessError) as error:
        print(f"image: {error}", file=sys.stderr)
        return 1
    print(f"{name} is built, in {time.monotonic() - started:.0f} s")
    return 0


def _arguments() -> Wanted:
    parser = argparse.ArgumentParser(prog="python -m deploy.image", description="build the container image")
    parser.add_argument("--engine", default="", choices=["docker", "podman", "buildah"])
    parser.add_argument(
        "--base", default="", help="an image that is there or can be pulled, in place of the Dockerfile's"
    )
    parser.add_argument("--name", default="rdma-gate")
    parser.add_argument("--archive", type=Path, help="write the image here too")
    parser.add_argument("--fresh", action="store_true", help="use nothing that earlier builds made")
    return Wanted(**vars(parser.parse_args()))


if __name__ == "__main__":
    sys.exit(main())
