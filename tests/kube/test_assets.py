import contextlib
import os
import queue
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from deploy.demo.prometheus import NotAvailableError
from deploy.kube import go_build
from deploy.kube.assets import find_asset, main
from deploy.kube.go_build import Program, ensure

REPOSITORY = Path(__file__).resolve().parents[2]
LIMIT_SECONDS = 300

# Builds at once, or as the machine's folder has it: fails, or waits until a line comes through the pipe.
GO = """#!/bin/sh
machine=${0%/*}
[ "$1" = version ] && { cat "$machine/version"; exit; }
echo "$@" >> "$machine/calls"
while [ "$1" != -o ]; do shift; done
echo half > "$2"
[ -p "$machine/started" ] && { echo > "$machine/started"; read -r _ < "$machine/end"; }
[ -e "$machine/broken" ] && { echo "go: downloading"; cat "$machine/broken"; exit 1; }
echo whole > "$2"
"""


class Machine:
    """A machine with this Go and nothing else of ours; ``said`` is what was told to the user."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.said: list[str] = []
        self.pipes: dict[str, int] = {}
        (folder / "version").write_text("go version go1.26.8 linux/amd64\n")
        (folder / "go").write_text(GO)
        (folder / "go").chmod(0o755)

    @property
    def builds(self) -> int:
        calls = self.folder / "calls"
        return len(calls.read_text().splitlines()) if calls.exists() else 0

    @property
    def kept(self) -> list[str]:
        return sorted(one.name for one in (go_build.root() / "programs").iterdir())

    def hold_builds(self) -> None:
        for name in ("started", "end"):
            os.mkfifo(self.folder / name)
            # Open at both ends, so that neither side waits for the other to open it.
            self.pipes[name] = os.open(self.folder / name, os.O_RDWR)

    def wait_for_build(self) -> None:
        assert select.select([self.pipes["started"]], [], [], LIMIT_SECONDS)[0], "no build started"

    def end_builds(self) -> None:
        os.write(self.pipes["end"], b"\n\n\n")

    def close(self) -> None:
        for descriptor in self.pipes.values():
            os.close(descriptor)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    monkeypatch.setenv("RDMA_GATE_LAB_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    with contextlib.closing(Machine(tmp_path / "bin")) as made:
        yield made


@pytest.fixture
def program(tmp_path: Path) -> Program:
    module = tmp_path / "module"
    module.mkdir()
    (module / "go.mod").write_text("module example.com/tools\n\nrequire example.com/tool v2.5.1\n")
    (module / "go.sum").write_text("")
    return Program("tool", module, "example.com/tool", "example.com/tool/cmd", ("main.version=v{version}-{minor}",))


def test_kubebuilder_assets_are_taken_first(tmp_path: Path, machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "etcd").touch(0o755)
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(tmp_path))
    assert find_asset("etcd", machine.said.append) == tmp_path / "etcd"
    assert (machine.builds, machine.said) == (0, [])


def test_what_kubebuilder_assets_lack_is_built(
    tmp_path: Path, machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(tmp_path))
    assert find_asset("helm", machine.said.append).read_text() == "whole\n"


def test_a_program_is_built_once_with_its_version(machine: Machine, program: Program) -> None:
    first = ensure(program, machine.said.append)
    second = ensure(program, machine.said.append)
    assert (first, first.read_text(), machine.builds) == (second, "whole\n", 1)
    assert "-ldflags -s -w -X main.version=v2.5.1-5 -o" in (machine.folder / "calls").read_text()
    assert machine.said[0] == f"building tool 2.5.1, which is kept in {go_build.root()}"


def test_another_compiler_or_module_file_builds_it_anew(machine: Machine, program: Program) -> None:
    ensure(program, machine.said.append)
    (machine.folder / "version").write_text("go version go1.27.0 linux/amd64\n")
    ensure(program, machine.said.append)
    (program.module / "go.sum").write_text("example.com/other v1.0.0 h1:0=\n")
    ensure(program, machine.said.append)
    assert (machine.builds, len(machine.kept)) == (3, 3)


def test_sources_of_our_own_are_part_of_the_key_and_need_neither_version_nor_sums(
    tmp_path: Path, machine: Machine
) -> None:
    (tmp_path / "go.mod").write_text("module example.com/own\n")
    own = Program("own", tmp_path, None, ".")
    ensure(own, machine.said.append)
    (tmp_path / "part").mkdir()
    (tmp_path / "part" / "part.go").write_text("package part\n")
    ensure(own, machine.said.append)
    (tmp_path / "part" / "part_test.go").write_text("package part\n")
    ensure(own, machine.said.append)
    assert (machine.builds, len(machine.kept)) == (2, 2)
    assert machine.said[0] == f"building own 0.0.0, which is kept in {go_build.root()}"


def test_a_machine_without_go_says_so(machine: Machine, program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(machine.folder.parent))
    with pytest.raises(NotAvailableError) as refusal:
        ensure(program, machine.said.append)
    assert str(refusal.value) == "go: not on PATH, wanted it to build the parts of Kubernetes"


def test_a_build_that_fails_twice_says_why_and_leaves_nothing(machine: Machine, program: Program) -> None:
    (machine.folder / "broken").write_text("example.com/tool@v2.5.1: connection refused\n")
    with pytest.raises(NotAvailableError) as refusal:
        ensure(program, machine.said.append)
    why = "tool 2.5.1: go could not build it (example.com/tool@v2.5.1: connection refused)"
    assert (str(refusal.value), machine.builds, machine.kept) == (why, 2, [])
    assert f"{why}; once more" in machine.said


def test_a_long_build_tells_how_long_it_has_taken(
    machine: Machine, program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(go_build, "SAY_EVERY_SECONDS", 0.01)
    machine.hold_builds()
    told = threading.Event()

    def say(line: str) -> None:
        if line == "building tool 2.5.1, 0 min so far":
            told.set()

    with ThreadPoolExecutor() as threads:
        built = threads.submit(ensure, program, say)
        machine.wait_for_build()
        assert told.wait(LIMIT_SECONDS)
        machine.end_builds()
        assert built.result(LIMIT_SECONDS).read_text() == "whole\n"


def test_two_runs_at_once_build_it_once_and_the_second_says_that_it_waits(machine: Machine, program: Program) -> None:
    machine.hold_builds()
    said: queue.Queue[str] = queue.Queue()
    with ThreadPoolExecutor() as threads:
        first = threads.submit(ensure, program, machine.said.append)
        machine.wait_for_build()
        second = threads.submit(ensure, program, said.put)
        told = said.get(timeout=LIMIT_SECONDS)
        machine.end_builds()
        assert first.result(LIMIT_SECONDS) == second.result(LIMIT_SECONDS)
    assert (machine.builds, told) == (1, "waiting for another run that is building parts of Kubernetes")


def test_an_interrupted_build_leaves_nothing_half(machine: Machine) -> None:
    machine.hold_builds()
    argv = [sys.executable, "-m", "deploy.kube.assets", "etcd"]
    with subprocess.Popen(argv, cwd=REPOSITORY, stdout=subprocess.DEVNULL) as run:
        machine.wait_for_build()
        run.send_signal(signal.SIGINT)
        assert run.wait(LIMIT_SECONDS) == 130
    assert machine.kept == []


def test_an_unknown_name_is_refused_with_the_known_ones(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["kubectl"]) == 64
    assert capsys.readouterr().out == (
        "kubectl: no such program, "
        "of etcd, kube-apiserver, kube-controller-manager, kube-scheduler, helm, kubelet, "
        "k8s-rdma-shared-dp, pause wanted\n"
    )
