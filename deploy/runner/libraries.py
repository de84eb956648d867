"""The shared libraries that files need, in four folders by who else may bring them.

``glibc`` has the C library, which belongs to one loader; ``lib`` what Python and the tools need besides; ``gcc`` the
compiler's libraries, of which an image's newer ones serve everybody; ``verbs`` what an image that does RDMA brings.
"""

import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

GLIBC = re.compile(r"lib(anl|c|dl|m|mvec|nss_\w+|pthread|resolv|rt|util)\.so\.\d+")
GCC = re.compile(r"lib(gcc_s|stdc\+\+)\.so\.\d+")
VERBS = re.compile(r"lib(ibverbs|rdmacm|ibumad|mlx\d|efa|hns|mana|nl-3|nl-route-3)\.so\.\d+")
# Parts of the C library that became empty, and that an older image's libraries still name.
STUBS = ("libanl.so.1", "libdl.so.2", "libpthread.so.0", "librt.so.1", "libutil.so.1")
LIMIT_SECONDS = 120


def copy_libraries(objects: Iterable[Path], target: Path) -> Path:
    """Copy every shared library that these objects need into its folder of the target; return the loader."""
    loader = Path()
    for file in objects:
        for library in libraries(file):
            if library.name.startswith("ld-"):
                loader = library
            elif not (to := target / folder_of(library.name) / library.name).exists():
                to.parent.mkdir(exist_ok=True)
                shutil.copyfile(library.resolve(), to)
    for name in STUBS:
        if (stub := loader.resolve().parent / name).exists():
            shutil.copyfile(stub, target / "glibc" / name)
    return loader


def folder_of(name: str) -> str:
    """Return the folder of the tree in which a library lies."""
    kinds = {"glibc": GLIBC, "gcc": GCC, "verbs": VERBS}
    return next((folder for folder, pattern in kinds.items() if pattern.fullmatch(name)), "lib")


def libraries(file: Path) -> Iterator[Path]:
    """Yield the shared libraries that this file needs in turn, and the loader; none for what is not linked so."""
    done = subprocess.run(["ldd", str(file)], capture_output=True, check=False, text=True, timeout=LIMIT_SECONDS)
    for line in done.stdout.splitlines():
        if match := re.match(r"\s*(?:\S+ => )?(/\S+) \(0x", line):
            yield Path(match[1])
