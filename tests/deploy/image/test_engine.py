"""What each engine is told, as far as it can be judged without one."""

import dataclasses
import re
from pathlib import Path

import pytest

from deploy.image.base import mmdebstrap, name
from deploy.image.engine import Build, Engine, choose

DOCKERFILE = Path(__file__).resolve().parents[3] / "deploy" / "Dockerfile"
WANTED = Build("rdma-gate:0.1.0", "", {"VERSION": "0.1.0", "REVISION": "abc"}, {"pip": Path("/work/pip")})
COMMON = [
    *("--file=deploy/Dockerfile", "--tag=rdma-gate:0.1.0", "--build-arg=VERSION=0.1.0", "--build-arg=REVISION=abc"),
    "--secret=id=pip,src=/work/pip",
]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder on PATH, empty."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


def put(path: Path, program: str, *, answers: bool) -> None:
    """A program that answers, or only fails, whatever it is asked."""
    (path / program).write_text(f"#!/bin/sh\nexit {0 if answers else 1}\n")
    (path / program).chmod(0o755)


@pytest.mark.parametrize("program", ["docker", "podman"])
def test_an_engine_that_pulls_takes_the_base_of_the_dockerfile(store: Path, program: str) -> None:
    engine = Engine(program, store)

    assert engine.pulls
    assert engine.build(WANTED) == [program, "build", *COMMON, "--pull", "."]
    assert engine.save("rdma-gate:0.1.0", Path("/a.tar")) == [program, "save", "--output=/a.tar", "rdma-gate:0.1.0"]


def test_a_base_that_is_named_is_not_pulled_anew(store: Path) -> None:
    named = Build(WANTED.name, "mine:1", WANTED.arguments, WANTED.secrets)

    assert Engine("docker", store).build(named) == ["docker", "build", *COMMON, "--build-arg=BASE=mine:1", "."]


def test_buildah_asks_no_registry_and_isolates_by_chroot(store: Path) -> None:
    engine = Engine("buildah", store)
    local = Build(WANTED.name, "localhost/base", WANTED.arguments, WANTED.secrets)

    own = ["--root", f"{store}/images", "--runroot", f"{store}/run", "--storage-driver", "vfs"]
    options = ["--isolation=chroot", "--format=docker", "--pull-never", "--build-arg=BASE=localhost/base"]
    ignored = "--ignorefile=deploy/Dockerfile.dockerignore"
    assert not engine.pulls
    assert engine.build(local) == ["buildah", *own, "build", *options, ignored, *COMMON, "."]
    pushed = ["push", "--quiet", "rdma-gate:0.1.0", "docker-archive:/a.tar:rdma-gate:0.1.0"]
    assert engine.save("rdma-gate:0.1.0", Path("/a.tar")) == ["buildah", *own, *pushed]


@pytest.mark.parametrize("program", ["docker", "podman"])
def test_a_fresh_build_takes_nothing_from_the_cache_of_an_engine_that_has_one(store: Path, program: str) -> None:
    fresh = dataclasses.replace(WANTED, fresh=True)

    assert Engine(program, store).build(fresh) == [program, "build", *COMMON, "--pull", "--no-cache", "."]


def test_buildah_takes_images_in_place_of_stages_and_ends_at_the_target(store: Path) -> None:
    stage = dataclasses.replace(WANTED, base="localhost/base", stages={"tools": "localhost/tools:1"}, target="packages")

    argv = Engine("buildah", store).build(stage)

    assert argv[-3:] == ["--target=packages", "--build-context=tools=container-image://localhost/tools:1", "."]


def test_a_client_whose_daemon_does_not_answer_is_passed_by(store: Path, path: Path) -> None:
    put(path, "docker", answers=False)
    put(path, "podman", answers=True)
    put(path, "buildah", answers=True)

    assert choose(store) == Engine("podman", store)
    assert choose(store, "buildah") == Engine("buildah", store)


def test_without_an_engine_the_message_names_those_that_would_do(store: Path, path: Path) -> None:
    with pytest.raises(ValueError, match="image: docker, podman, buildah not found or silent, one engine wanted"):
        choose(store)
    put(path, "docker", answers=False)
    with pytest.raises(ValueError, match="image: docker not found or silent, one engine wanted"):
        choose(store, "docker")


def test_the_base_that_is_made_here_is_of_the_release_that_the_dockerfile_names() -> None:
    (release,) = re.findall(r"^ARG BASE=debian:(\d+)\.", DOCKERFILE.read_text(), re.MULTILINE)

    argv = mmdebstrap(Path("/base.tar"))

    assert argv[0] == "mmdebstrap"
    assert argv[-2:] == [{"12": "bookworm"}[release], "/base.tar"]
    assert "--variant=minbase" in argv


def test_the_base_is_made_without_perl_and_named_by_how_it_is_made() -> None:
    assert "--include=usr-is-merged" in mmdebstrap(Path("/base.tar"))
    assert re.fullmatch(r"localhost/rdma-gate-base:[0-9a-f]{16}", name())
