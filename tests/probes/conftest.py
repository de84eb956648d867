"""Recorded machines, path ends and clusters for the tests of readers and probes."""

import importlib.util
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from probes import Finding
from probes._cluster import Cluster

PROBES = Path(__file__).parents[2] / "probes"
MAKE_HOSTS = Path(__file__).parents[1] / "fixtures" / "hosts" / "make_hosts.py"
FACTS = Path(__file__).parents[1] / "fixtures" / "kube_facts" / "facts.py"
PATH_ENDS = Path(__file__).parents[1] / "fixtures" / "paths" / "path_ends.py"


@pytest.fixture(scope="session")
def narrowed() -> Iterator[Callable[..., subprocess.CompletedProcess[str]]]:
    """``narrowed(["--reuid", "1000"], script, *arguments)`` runs one that may import probes, as setpriv narrows it.

    It gets a copy of the package: another user may not be able to read this checkout, or its environment.
    """
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="rdma-gate-narrowed-") as folder:
        shutil.copytree(PROBES, Path(folder) / "probes", ignore=shutil.ignore_patterns("__pycache__"))
        subprocess.run(["chmod", "-R", "a+rX", folder], check=True)
        interpreter = Path(sys.executable).resolve()

        def run(privileges: Sequence[str], script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
            argv = ["setpriv", *privileges, str(interpreter), "-c", script, *arguments]
            return subprocess.run(argv, capture_output=True, text=True, check=False, cwd=folder)

        yield run


@pytest.fixture(scope="session")
def hosts() -> ModuleType:
    """The generator of recorded machines: ``hosts.h100x8()`` is one, to be changed and written."""
    return _load(MAKE_HOSTS)


@pytest.fixture
def recorded(hosts: ModuleType, tmp_path: Path) -> Callable[..., Path]:
    """``recorded("h100x8", {path: text or None})`` writes that machine with some files changed or absent."""

    def write(name: str, changes: dict[str, str | None] | None = None) -> Path:
        machine = hosts.HOSTS[name]()
        for path, text in (changes or {}).items():
            if text is None:
                machine.texts = {p: t for p, t in machine.texts.items() if p != path and not p.startswith(f"{path}/")}
                machine.links = {p: t for p, t in machine.links.items() if p != path and not p.startswith(f"{path}/")}
            else:
                machine.texts[path] = text
        return machine.write(tmp_path / name)

    return write


@pytest.fixture(scope="session")
def ends() -> ModuleType:
    """Ends that play recorded outputs back."""
    return _load(PATH_ENDS)


@pytest.fixture(scope="session")
def facts() -> ModuleType:
    """The generator of small clusters."""
    return _load(FACTS)


@pytest.fixture
def ask() -> Callable[..., Any]:
    """``await ask(probe, cluster)`` is each finding as (node, resource or group, status, reason)."""

    async def answers(probe: Any, cluster: Cluster) -> list[tuple[str, str, str, str]]:
        found: list[Finding] = list(await probe.run(cluster))
        assert {one.subject.node for one in found} >= set(cluster.judged)
        return [
            (one.subject.node, one.subject.resource or one.subject.group, one.status.value, one.reason) for one in found
        ]

    return answers


def _load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
