"""Make a tree with all that the node role needs: interpreter, loader, libraries, standard library, packages, program.

    python tree.py TARGET [SOURCE]

It starts in an image that has no Python, another libc, or nothing at all, from wherever it is copied to:

    TARGET/ld.so --library-path TARGET/lib TARGET/bin/python3 -I -S -B -m exporter serve --config FILE

Only the standard library is used here, since this runs where an image is built. SOURCE is where the packages
``exporter`` and ``probes`` are (default: wherever this interpreter finds them). What the gate alone needs is left out.
"""

import importlib.metadata
import importlib.util
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from pathlib import Path

PROGRAM = ("exporter", "probes")
DISTRIBUTION = "rdma-gate"
GATE_ONLY = frozenset({"kubernetes", "pydantic", "rich"})
UNNEEDED_OF_PYTHON = ("ensurepip", "idlelib", "lib2to3", "pydoc_data", "test", "tkinter")
UNNEEDED = frozenset({*UNNEEDED_OF_PYTHON, "__pycache__", "dist-packages", "site-packages"})
LIMIT_SECONDS = 120


def main(arguments: list[str]) -> None:
    """Make the tree at the first argument, and say what it is made of."""
    target = Path(arguments[0])
    source = Path(arguments[1]) if len(arguments) > 1 else None
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    library = target / "lib"
    copy_standard_library(library / version)
    for name in sorted(needed(DISTRIBUTION)):
        copy_distribution(name, library / version)
    for name in PROGRAM:
        copy_package(name, library / version, source)
    interpreter = Path(sys.executable).resolve()
    (target / "bin").mkdir()
    shutil.copy2(interpreter, target / "bin" / "python3")
    loader = copy_libraries([interpreter, *library.rglob("*.so*")], library)
    shutil.copy2(loader, target / "ld.so")
    size = sum(file.stat().st_size for file in target.rglob("*") if file.is_file())
    print(f"{target}: {size / 2**20:.0f} MiB, loader {loader.name}")


def copy_standard_library(target: Path) -> None:
    """Copy the standard library, with its extension modules."""
    shutil.copytree(sysconfig.get_path("stdlib"), target, ignore=_unneeded, symlinks=False)


def needed(distribution: str) -> set[str]:
    """Return the distributions that this one needs in turn, less those that the gate alone does."""
    found: set[str] = set()
    waiting = [distribution]
    while waiting:
        for text in importlib.metadata.requires(waiting.pop()) or ():
            name = _normal(re.split(r"[^A-Za-z0-9._-]", text, maxsplit=1)[0])
            if "extra ==" not in text and name not in GATE_ONLY | found and _is_installed(name):
                found.add(name)
                waiting.append(name)
    return found


def copy_distribution(name: str, target: Path) -> None:
    """Copy a distribution's modules.

    They lie beside the standard library: whoever packages Python decides where else one is looked for, and ``-S``
    leaves that out.
    """
    for file in importlib.metadata.files(name) or ():
        if file.suffix in (".pyc", ".pth") or file.parts[0] in ("..", "__pycache__"):
            continue
        to = target / file
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file.locate(), to)


def copy_package(name: str, target: Path, source: Path | None) -> None:
    """Copy one package of the program."""
    found = source / name if source else Path(str(importlib.util.find_spec(name).origin)).parent  # type: ignore[union-attr]
    shutil.copytree(found, target / name, ignore=_unneeded)


def copy_libraries(objects: Iterable[Path], target: Path) -> Path:
    """Copy every shared library that these objects need; return the loader."""
    loader = Path()
    for file in objects:
        for library in libraries(file):
            if library.name.startswith("ld-"):
                loader = library
            elif not (target / library.name).exists():
                shutil.copyfile(library.resolve(), target / library.name)
    return loader


def libraries(file: Path) -> Iterator[Path]:
    """Yield the shared libraries that this file needs in turn, and the loader; none for what is not linked so."""
    done = subprocess.run(["ldd", str(file)], capture_output=True, check=False, text=True, timeout=LIMIT_SECONDS)
    for line in done.stdout.splitlines():
        if match := re.match(r"\s*(?:\S+ => )?(/\S+) \(0x", line):
            yield Path(match[1])


def _is_installed(name: str) -> bool:
    try:
        importlib.metadata.distribution(name)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _unneeded(_folder: str, names: list[str]) -> list[str]:
    return [name for name in names if name in UNNEEDED or name.startswith(("config-", "_tkinter"))]


if __name__ == "__main__":
    main(sys.argv[1:])
