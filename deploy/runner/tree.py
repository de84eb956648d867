"""Make a tree with all that the node role needs: interpreter, loader, libraries, packages, program, and RDMA's tools.

    python -m deploy.runner.tree [--link] TARGET [SOURCE]

It starts in an image that has no Python, another libc, or nothing at all, from wherever it is copied to:

    TARGET/ld.so --library-path TARGET/glibc:TARGET/lib:TARGET/gcc TARGET/bin/python3 -I -S -B -m exporter serve

The tools in TARGET/tools and the libraries in TARGET/verbs are for images that lack them; ``probes/_runner.py`` says
which are used when. Only the standard library is used here, since this runs where an image is built. SOURCE is where
the packages ``exporter`` and ``probes`` are (default: wherever this interpreter finds them). What the gate alone needs
is left out. With --link the packages become further names of the installed files, for an image that has both in one
layer; whoever copies the tree gets files of its own.
"""

import compileall
import importlib.metadata
import importlib.util
import os
import py_compile
import re
import shutil
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path

from deploy.runner.libraries import copy_libraries
from deploy.runner.verbs import copy_drivers, copy_tools

PROGRAM = ("exporter", "probes")
DISTRIBUTION = "rdma-gate"
GATE_ONLY = frozenset({"kubernetes", "pydantic", "rich"})
UNNEEDED_OF_PYTHON = ("ensurepip", "idlelib", "lib2to3", "pydoc_data", "test", "tkinter")
# Modules for terminals, NIS and old databases bring a dozen libraries.
UNNEEDED_BEGINNINGS = ("config-", "_tkinter", "_curses", "readline", "nis.", "_dbm", "_gdbm")
Place = Callable[[str, str], object]
UNNEEDED = frozenset({*UNNEEDED_OF_PYTHON, "__pycache__", "dist-packages", "site-packages"})


def main(arguments: list[str], search_path: str) -> None:
    """Make the tree at the first argument, with the tools on the search path, and say what it is made of."""
    linking = "--link" in arguments
    target, *source = (Path(one) for one in arguments if one != "--link")
    copy_program(target / "lib", source[0] if source else None, os.link if linking else shutil.copyfile)
    compile_ahead(target / "lib")
    interpreter = Path(sys.executable).resolve()
    (target / "bin").mkdir()
    shutil.copy2(interpreter, target / "bin" / "python3")
    tools = copy_tools(target, search_path)
    objects = [interpreter, *target.rglob("*.so*"), *tools, *copy_drivers(tools, target)]
    loader = copy_libraries(objects, target)
    shutil.copy2(loader, target / "ld.so")
    size = sum(file.stat().st_size for file in target.rglob("*") if file.is_file() and not file.is_symlink())
    print(f"{target}: {size / 2**20:.0f} MiB, loader {loader.name}, {len(tools)} tools of RDMA")


def copy_program(library: Path, source: Path | None, place: Place) -> None:
    """Copy the standard library, and place the packages that are needed and the program."""
    folder = library / f"python{sys.version_info.major}.{sys.version_info.minor}"
    copy_standard_library(folder)
    for name in sorted(needed(DISTRIBUTION)):
        copy_distribution(name, folder, place)
    for name in PROGRAM:
        copy_package(name, folder, source, place)


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


def copy_distribution(name: str, target: Path, place: Place) -> None:
    """Place a distribution's modules.

    They lie beside the standard library: whoever packages Python decides where else one is looked for, and ``-S``
    leaves that out.
    """
    for file in importlib.metadata.files(name) or ():
        if file.suffix in (".pyc", ".pth") or file.parts[0] in ("..", "__pycache__"):
            continue
        to = target / file
        to.parent.mkdir(parents=True, exist_ok=True)
        place(str(file.locate()), str(to))


def copy_package(name: str, target: Path, source: Path | None, place: Place) -> None:
    """Place one package of the program."""
    found = source / name if source else Path(str(importlib.util.find_spec(name).origin)).parent  # type: ignore[union-attr]
    shutil.copytree(found, target / name, ignore=_unneeded, copy_function=place)


def compile_ahead(library: Path) -> None:
    """Write compiled modules, since whoever starts the tree may not; without them a start takes three times as long.

    They are held against their sources by hash: a copy of the tree has files of another time.
    """
    compileall.compile_dir(library, quiet=2, workers=0, invalidation_mode=py_compile.PycInvalidationMode.CHECKED_HASH)


def _is_installed(name: str) -> bool:
    try:
        importlib.metadata.distribution(name)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _unneeded(_folder: str, names: list[str]) -> list[str]:
    return [name for name in names if name in UNNEEDED or name.startswith(UNNEEDED_BEGINNINGS)]


if __name__ == "__main__":
    main(sys.argv[1:], os.environ.get("PATH", os.defpath))
