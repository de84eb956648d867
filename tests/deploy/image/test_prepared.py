"""What of the image is made once, and when it is made anew, with a buildah that only writes down what it is told."""

import datetime
import subprocess
from pathlib import Path

import pytest

from deploy.image import base as debian
from deploy.image.engine import Engine
from deploy.image.prepared import KEPT_FOR, Keeping, copied, upto

NOW = datetime.datetime(2026, 11, 30, 12, tzinfo=datetime.UTC)
RECENT, OLD = NOW - KEPT_FOR + datetime.timedelta(hours=1), NOW - KEPT_FOR - datetime.timedelta(hours=1)
DOCKERFILE = """\
ARG BASE=debian
# What is said of a stage is no part of it.
FROM ${BASE} AS tools
RUN install tools

FROM tools AS packages
COPY requirements.lock pyproject.toml ./
RUN install packages

FROM packages AS build
COPY exporter exporter

FROM tools
COPY --from=build /opt /opt
"""
FAKE = """\
#!/bin/sh
while case $1 in --*) true ;; *) false ;; esac; do shift 2; done
echo "$*" >> "$FAKE/said"
for last; do :; done
case $1 in
  inspect) cat "$FAKE/images/$(echo "$last" | tr / _)" ;;
  build)
    for word; do
      case $word in --tag=*) echo "$MADE" > "$FAKE/images/$(echo "${word#--tag=}" | tr / _)" ;; esac
    done ;;
  images) ls "$FAKE/images" | tr _ / ;;
esac
"""


class FakeBuildah:
    """Images by name, each with the time when it was made; and the commands that were given."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "images").mkdir()
        (folder / "buildah").write_text(FAKE)
        (folder / "buildah").chmod(0o755)

    def has(self, name: str, created: datetime.datetime) -> None:
        file = self.folder / "images" / name.replace("/", "_")
        file.write_text(f"{as_said(created)}\n")

    def told(self, *verbs: str) -> list[str]:
        said = self.folder / "said"
        lines = said.read_text().splitlines() if said.exists() else []
        return [line for line in lines if line.split()[0] in verbs]


@pytest.fixture
def buildah(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeBuildah:
    folder = tmp_path / "fake"
    folder.mkdir()
    monkeypatch.setenv("FAKE", str(folder))
    monkeypatch.setenv("MADE", as_said(NOW))
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    return FakeBuildah(folder)


@pytest.fixture
def keeping(buildah: FakeBuildah, tmp_path: Path) -> Keeping:
    checkout = tmp_path / "checkout"
    (checkout / "deploy").mkdir(parents=True)
    (checkout / "deploy" / "Dockerfile").write_text(DOCKERFILE)
    for name in ("requirements.lock", "pyproject.toml"):
        (checkout / name).write_text(name)
    return Keeping(Engine("buildah", tmp_path), checkout, tmp_path, NOW)


def keys(keeping: Keeping, below: str = "base") -> list[str]:
    return [keeping.key(stage, below) for stage in ("tools", "packages")]


def names(keeping: Keeping, base: datetime.datetime, tools: datetime.datetime) -> dict[str, str]:
    """The images of the stages, where the one below each was made then."""
    below = {"tools": base, "packages": tools}
    return {stage: f"localhost/rdma-gate-{stage}:{keeping.key(stage, as_said(when))}" for stage, when in below.items()}


def test_a_base_of_today_is_used_and_said(
    buildah: FakeBuildah, keeping: Keeping, capsys: pytest.CaptureFixture[str]
) -> None:
    buildah.has(debian.name(), RECENT)

    assert keeping.base() == debian.name()
    assert capsys.readouterr().out == f"buildah: using {debian.name()} of 2026-11-27 13:00 UTC\n"


def test_a_base_that_is_too_old_is_made_anew(buildah: FakeBuildah, keeping: Keeping) -> None:
    buildah.has(debian.name(), OLD)
    put_failing(buildah.folder / "mmdebstrap")

    with pytest.raises(subprocess.CalledProcessError, match="mmdebstrap"):
        keeping.base()


def test_stages_are_built_one_on_the_other_where_they_are_not_kept(buildah: FakeBuildah, keeping: Keeping) -> None:
    buildah.has("base", RECENT)
    wanted = names(keeping, RECENT, NOW)
    tools, packages = wanted.values()

    assert keeping.stages("base", {}) == wanted

    first, second = buildah.told("build")
    assert first.endswith(f"--tag={tools} --target=tools .")
    assert second.endswith(f"--tag={packages} --target=packages --build-context=tools=container-image://{tools} .")
    assert "--build-arg=BASE=base" in first


def test_stages_that_are_kept_are_not_built_unless_all_is_to_be_fresh(buildah: FakeBuildah, keeping: Keeping) -> None:
    wanted = names(keeping, RECENT, NOW)
    for name in ("base", wanted["packages"]):
        buildah.has(name, RECENT)
    buildah.has(wanted["tools"], NOW)

    assert keeping.stages("base", {}) == wanted
    assert buildah.told("build") == []

    fresh = Keeping(keeping.engine, keeping.repository, keeping.work, NOW, fresh=True)
    assert fresh.stages("base", {}) == wanted
    assert len(buildah.told("build")) == 2


def test_a_stage_made_anew_takes_those_on_it_along(buildah: FakeBuildah, keeping: Keeping) -> None:
    earlier = names(keeping, RECENT, OLD)
    for name, when in (("base", RECENT), (earlier["tools"], OLD), (earlier["packages"], RECENT)):
        buildah.has(name, when)

    assert keeping.stages("base", {}) == names(keeping, RECENT, NOW)
    assert len(buildah.told("build")) == 2


def test_the_program_is_in_no_key_and_the_lock_only_in_that_of_the_packages(keeping: Keeping) -> None:
    before = keys(keeping)
    dockerfile = keeping.repository / "deploy" / "Dockerfile"

    dockerfile.write_text(DOCKERFILE.replace("What is said", "# Whatever").replace("exporter exporter", "exporter ."))
    assert keys(keeping) == before

    (keeping.repository / "requirements.lock").write_text("changed")
    after = keys(keeping)
    assert (after[0] == before[0], after[1] == before[1]) == (True, False)


def test_another_base_or_other_tools_change_both_keys(keeping: Keeping) -> None:
    before = keys(keeping)
    assert not set(keys(keeping, "another")) & set(before)

    (keeping.repository / "deploy" / "Dockerfile").write_text(DOCKERFILE.replace("install tools", "install more"))

    assert not set(keys(keeping)) & set(before)


def test_what_earlier_builds_made_or_left_is_removed_and_other_images_stay(
    buildah: FakeBuildah, keeping: Keeping
) -> None:
    for name in ("localhost/rdma-gate-tools:new", "localhost/rdma-gate-tools:old", "localhost/rdma-gate:0.1.0"):
        buildah.has(name, RECENT)

    keeping.forget_others({"localhost/rdma-gate-tools:new"})

    assert buildah.told("rm", "rmi") == ["rm --all", "rmi localhost/rdma-gate-tools:old", "rmi --prune"]


def test_a_stage_is_read_with_those_before_it_and_knows_its_files() -> None:
    assert copied(upto("packages", DOCKERFILE)) == ["requirements.lock", "pyproject.toml"]
    assert upto("tools", DOCKERFILE).splitlines()[1:3] == ["FROM ${BASE} AS tools", "RUN install tools"]
    with pytest.raises(ValueError, match="deploy/Dockerfile: no stage none found, one wanted"):
        upto("none", DOCKERFILE)


def as_said(when: datetime.datetime) -> str:
    return f"{when:%Y-%m-%d %H:%M:%S}.798118416 +0000 UTC"


def put_failing(file: Path) -> None:
    file.write_text("#!/bin/sh\nexit 1\n")
    file.chmod(0o755)
