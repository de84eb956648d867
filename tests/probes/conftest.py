"""Recorded machines for the tests of readers and probes."""

import importlib.util
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

MAKE_HOSTS = Path(__file__).parents[1] / "fixtures" / "hosts" / "make_hosts.py"
PATH_ENDS = Path(__file__).parents[1] / "fixtures" / "paths" / "path_ends.py"


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


def _load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
