"""Which program builds the image, and how each is told: docker, podman or buildah, in this order.

buildah is Debian's and needs neither a daemon nor a registry, so it is the one that ``deploy/install image`` installs.
As root it isolates by chroot and keeps layers as plain folders, which works in containers and on any filesystem.
"""

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

ANSWER_SECONDS = 30


@dataclass(frozen=True, slots=True)
class Build:
    """What is to be built. ``secrets`` are files by name that the build may read and the image does not keep.

    ``stages`` are images in place of stages of that name, for buildah. ``target`` is the stage to build, the last one
    where it is empty. ``fresh`` takes nothing from a cache.
    """

    name: str
    base: str
    arguments: Mapping[str, str]
    secrets: Mapping[str, Path]
    stages: Mapping[str, str] = field(default_factory=dict)
    target: str = ""
    fresh: bool = False


@dataclass(frozen=True, slots=True)
class Engine:
    """A program that builds images. ``store`` is where buildah keeps them; the others know that themselves."""

    program: str
    store: Path

    @property
    def pulls(self) -> bool:
        """Whether a base is fetched from a registry; else it is made here."""
        return self.program != "buildah"

    def call(self, *words: str) -> list[str]:
        """The program with its own options, and these words."""
        if self.program != "buildah":
            return [self.program, *words]
        places = ["--root", f"{self.store}/images", "--runroot", f"{self.store}/run"]
        return ["buildah", *places, "--storage-driver", "vfs", *words]

    def build(self, wanted: Build) -> list[str]:
        """The call that builds from the root of the checkout."""
        arguments = [f"--build-arg={name}={value}" for name, value in wanted.arguments.items()]
        secrets = [f"--secret=id={name},src={file}" for name, file in wanted.secrets.items()]
        words = ["--file=deploy/Dockerfile", f"--tag={wanted.name}", *arguments, *secrets]
        if wanted.target:
            words.append(f"--target={wanted.target}")
        if self.pulls:
            words.append(f"--build-arg=BASE={wanted.base}" if wanted.base else "--pull")
            return self.call("build", *words, *(["--no-cache"] if wanted.fresh else []), ".")
        ignored = "--ignorefile=deploy/Dockerfile.dockerignore"
        local = ["--isolation=chroot", "--format=docker", "--pull-never", f"--build-arg=BASE={wanted.base}", ignored]
        made = [f"--build-context={name}=container-image://{image}" for name, image in wanted.stages.items()]
        return self.call("build", *local, *words, *made, ".")

    def save(self, name: str, archive: Path) -> list[str]:
        """The call that writes an archive, which docker, podman and containerd all import."""
        if self.program == "buildah":
            return self.call("push", "--quiet", name, f"docker-archive:{archive}:{name}")
        return self.call("save", f"--output={archive}", name)


def choose(store: Path, wanted: str = "") -> Engine:
    """Return the engine of that name, else the first that answers. ValueError where none does."""
    for program in (wanted,) if wanted else ("docker", "podman", "buildah"):
        if _answers(program):
            return Engine(program, store)
    raise ValueError(f"image: {wanted or 'docker, podman, buildah'} not found or silent, one engine wanted")


def _answers(program: str) -> bool:
    # A client without its daemon has a version and cannot build.
    question = [program, "info"] if program != "buildah" else [program, "--version"]
    try:
        done = subprocess.run(question, check=False, capture_output=True, timeout=ANSWER_SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0
