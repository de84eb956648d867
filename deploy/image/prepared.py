"""What the image is made of before the program comes in is made once and kept: the base, and two stages on it.

Only buildah is helped so, since it has no cache of layers that is worth its room; docker and podman have. What was
kept is used for some days, since packages get security updates, and then made anew.
"""

import datetime
import hashlib
import re
import subprocess
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from deploy.image import base as debian
from deploy.image.engine import Build, Engine

PREFIX = "localhost/rdma-gate-"
STAGES = ("tools", "packages")
KEPT_FOR = datetime.timedelta(days=3)


@dataclass(frozen=True, slots=True)
class Keeping:
    """Where things are kept and who builds them. ``fresh`` makes everything anew; ``now`` is the present, in UTC."""

    engine: Engine
    repository: Path
    work: Path
    now: datetime.datetime
    fresh: bool = False

    def base(self) -> str:
        """The name of a base of Debian's packages, made where none is kept. CalledProcessError where a step fails."""
        if self._is_kept(name := debian.name()):
            return name
        print(f"{self.engine.program}: making a base of Debian's packages, since no registry is asked", flush=True)
        return debian.make_base(self.engine, self.work)

    def stages(self, base: str, secrets: Mapping[str, Path]) -> dict[str, str]:
        """The images of the stages by their names in the Dockerfile, built where they are not kept."""
        built: dict[str, str] = {}
        below = base
        for stage in STAGES:
            name = f"{PREFIX}{stage}:{self.key(stage, self._created(below))}"
            if not self._is_kept(name):
                print(f"{self.engine.program}: building {name}", flush=True)
                wanted = Build(name, base, {}, secrets, stages=dict(built), target=stage)
                subprocess.run(self.engine.build(wanted), check=True, cwd=self.repository)
            built[stage] = below = name
        return built

    def forget_others(self, kept: Collection[str]) -> None:
        """Remove what earlier builds made or left unfinished, so that the store does not grow for ever."""
        asked = self.engine.call("images", "--noheading", "--format={{.Name}}:{{.Tag}}")
        listed = subprocess.run(asked, check=True, capture_output=True, text=True).stdout.split()
        others = [name for name in listed if name.startswith(PREFIX) and name not in kept]
        for words in (("rm", "--all"), *(("rmi", name) for name in others), ("rmi", "--prune")):
            # One that cannot be removed now is tried again by the next build.
            subprocess.run(self.engine.call(*words), check=False, capture_output=True)

    def key(self, stage: str, below: str) -> str:
        """A key for all that the stage is made of: its lines and those before it, the files they copy, what is below.

        ``below`` is when that image was made, so that a stage made anew takes those on it along.
        """
        text = upto(stage, (self.repository / "deploy" / "Dockerfile").read_text())
        total = hashlib.sha256(f"{below}\n{text}".encode())
        for name in copied(text):
            total.update((self.repository / name).read_bytes())
        return total.hexdigest()[:16]

    def _is_kept(self, name: str) -> bool:
        created = self._created(name)
        if self.fresh or not created or self.now - _time(created) > KEPT_FOR:
            return False
        print(f"{self.engine.program}: using {name} of {created[:16]} UTC", flush=True)
        return True

    def _created(self, name: str) -> str:
        asked = self.engine.call("inspect", "--type=image", "--format={{.Docker.Created}}", name)
        done = subprocess.run(asked, check=False, capture_output=True, text=True)
        return done.stdout.strip() if done.returncode == 0 else ""


def upto(stage: str, dockerfile: str) -> str:
    """The instructions of a Dockerfile up to the end of this stage. ValueError where there is no such stage."""
    found = re.match(rf".*?^FROM \S+ AS {stage}$.*?(?=^FROM |\Z)", dockerfile, re.MULTILINE | re.DOTALL)
    if found is None:
        raise ValueError(f"deploy/Dockerfile: no stage {stage} found, one wanted")
    return "\n".join(line for line in found[0].splitlines() if not line.startswith("#"))


def copied(text: str) -> list[str]:
    """The files of the checkout that these instructions copy."""
    lines = re.findall(r"^COPY (?!--)(.+) \S+$", text, re.MULTILINE)
    return [name for line in lines for name in line.split()]


def _time(created: str) -> datetime.datetime:
    return datetime.datetime.fromisoformat(created[:19]).replace(tzinfo=datetime.UTC)
