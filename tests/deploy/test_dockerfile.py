"""The Dockerfile as far as it can be judged without an engine; tests/deploy/image builds and starts the image."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
DOCKERFILE = REPOSITORY / "deploy" / "Dockerfile"
IGNORE = REPOSITORY / "deploy" / "Dockerfile.dockerignore"
LIMIT_SECONDS = 300
RUNNER = "deploy/runner"
KNOWN = {"ARG", "FROM", "RUN", "WORKDIR", "COPY", "LABEL", "ENV", "USER", "EXPOSE", "ENTRYPOINT", "CMD"}


def test_every_line_is_an_instruction_that_docker_knows() -> None:
    assert {name for name, _ in _instructions()} == KNOWN


def test_every_file_that_is_copied_is_there_and_not_ignored() -> None:
    sources = _copied()

    assert sources == ["requirements.lock", "pyproject.toml", "README.md", "LICENSE", "exporter", "probes", RUNNER]
    assert [name for name in sources if not (REPOSITORY / name).exists()] == []
    kept = [line[1:] for line in IGNORE.read_text().splitlines() if line.startswith("!")]
    assert kept == sources


def test_what_the_wheel_is_made_of_is_copied() -> None:
    project = (REPOSITORY / "pyproject.toml").read_text()
    (packages,) = re.findall(r"^packages = \[(.+)\]$", project, re.MULTILINE)[:1]

    assert set(re.findall(r'"(\w+)"', packages)) <= set(_copied())
    assert 'readme = "README.md"' in project


def test_every_package_is_one_of_debian() -> None:
    if shutil.which("apt-cache") is None:
        pytest.skip("not run: apt-cache is not on PATH")
    names = [name for run in _runs() for name in _apt_packages(run)]

    shown = subprocess.run(
        ["apt-cache", "show", "--no-all-versions", *names],
        capture_output=True,
        check=False,
        text=True,
        timeout=LIMIT_SECONDS,
    )

    known = set(re.findall(r"^Package: (.+)$", shown.stdout, re.MULTILINE))
    if not known:
        pytest.skip("not run: apt has no package lists here")
    assert set(names) == known
    assert {"ibverbs-providers", "ibverbs-utils", "perftest", "python3"} <= set(names)


def test_only_the_lock_is_fetched_and_only_with_its_hashes() -> None:
    fetches = [_without_mounts(run) for run in _runs() if re.search(r"pip .*(download|install|wheel)", run)]

    assert [run for run in fetches if "--no-index" not in run] == [
        "/build/bin/pip download --require-hashes --only-binary :all: --dest /wheels -r requirements.lock"
    ]
    assert "--hash=sha256:" in (REPOSITORY / "requirements.lock").read_text()


def test_the_image_runs_as_a_number_that_is_not_root_and_finds_nccl_tests() -> None:
    instructions = _instructions_of_the_last_stage()

    assert instructions["USER"] == "65532:65532"
    assert instructions["ENTRYPOINT"] == '["rdma-gate"]'
    search_path = re.search(r"PATH=(\S+)", instructions["ENV"])
    assert search_path is not None
    assert search_path[1].split(":")[:2] == ["/opt/rdma-gate/bin", "/opt/nccl-tests/bin"]
    assert "org.opencontainers.image.version" in instructions["LABEL"]


def test_the_base_has_a_version_and_can_be_pinned_by_digest() -> None:
    bases = [value for name, value in _instructions() if name == "FROM"]
    (base,) = [value for name, value in _instructions() if name == "ARG" and value.startswith("BASE=")]

    assert re.fullmatch(r"BASE=debian:12\.\d+-slim", base)
    assert bases == ["${BASE} AS tools", "tools AS packages", "packages AS build", "tools"]


def test_what_the_machine_that_builds_is_set_to_comes_by_secrets_alone() -> None:
    mounts = [mount for run in _runs() for mount in re.findall(r"--mount=(\S+)", run)]
    named = [value for name, value in _instructions() if name in ("ARG", "ENV")]

    assert set(mounts) == {
        "type=secret,id=apt,target=/etc/apt/apt.conf.d/99build",
        "type=secret,id=pip,target=/etc/pip.conf",
        "type=secret,id=ca",
    }
    assert [value for value in named if re.search("(?i)index|proxy|cert", value)] == []


def test_the_chart_and_the_project_have_one_version() -> None:
    version = re.search(r'^version = "(.+)"$', (REPOSITORY / "pyproject.toml").read_text(), re.MULTILINE)
    chart = re.search(r"^appVersion: (.+)$", (REPOSITORY / "deploy/chart/Chart.yaml").read_text(), re.MULTILINE)

    assert version is not None
    assert chart is not None
    assert chart[1] == version[1]
    assert ("ARG", f"VERSION={version[1]}") in _instructions()


def _instructions() -> list[tuple[str, str]]:
    lines = [line for line in DOCKERFILE.read_text().splitlines() if line.strip() and not line.startswith("#")]
    joined = re.sub(r"\\\n\s*", "", "\n".join(lines))
    return [(name, rest) for name, _, rest in (line.partition(" ") for line in joined.splitlines())]


def _instructions_of_the_last_stage() -> dict[str, str]:
    last: dict[str, str] = {}
    for name, value in _instructions():
        last = {} if name == "FROM" else last | {name: value}
    return last


def _copied() -> list[str]:
    copies = [value.split()[:-1] for name, value in _instructions() if name == "COPY" and "--from" not in value]
    return [source for sources in copies for source in sources]


def _runs() -> Iterator[str]:
    for name, value in _instructions():
        if name == "RUN":
            yield from (part.strip() for part in value.split("&&"))


def _without_mounts(run: str) -> str:
    return re.sub(r"--mount=\S+ +", "", run)


def _apt_packages(run: str) -> list[str]:
    if not run.startswith("apt-get install"):
        return []
    return [word for word in run.split()[2:] if not word.startswith("-")]
