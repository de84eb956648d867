"""Versions of the libraries that RDMA and collectives need, by the names of their files; nothing is loaded.

Searched where the loader would look: LD_LIBRARY_PATH, the folders of ld.so.conf.d, the usual ones, CUDA's; then the
Python packages that bring libraries of their own. The first folder that has the file counts.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from probes._host import Tree
from probes.readers.environment import read_environment
from probes.readers.optional import optional_link, optional_text
from probes.readers.versions import LIBRARY_FOLDERS

CUDA_FOLDERS = (
    "/usr/local/cuda/lib64",
    "/usr/local/cuda/targets/x86_64-linux/lib",
    "/usr/local/cuda/targets/sbsa-linux/lib",
)
CONFIGURATIONS = "/etc/ld.so.conf.d"
PYTHONS = ("/usr/local/lib", "/usr/lib", "/opt/conda/lib", "/opt/venv/lib")
PACKAGES = ("site-packages", "dist-packages")
FILES = {
    "libibverbs": re.compile(r"libibverbs\.so\.1"),
    "librdmacm": re.compile(r"librdmacm\.so\.1"),
    "mlx5": re.compile(r"libmlx5\.so\.1"),
    "nccl": re.compile(r"libnccl\.so\.2"),
    "cudart": re.compile(r"libcudart\.so\.\d+"),
    "cuda": re.compile(r"libcuda\.so\.1"),
}
WHEELS = {
    "nccl": re.compile(r"nvidia_nccl_cu\d+-([\d.]+)\.dist-info"),
    "cudart": re.compile(r"nvidia_cuda_runtime(?:_cu\d+)?-([\d.]+)\.dist-info"),
}
VERSION = re.compile(r"\.so\.([\d.]+)$")


@dataclass(frozen=True, slots=True)
class Library:
    """One library. ``version`` is as full as the file's name or the package tells it."""

    version: str
    path: str


def read_libraries(tree: Tree) -> Mapping[str, Library]:
    """By name: ``libibverbs``, ``librdmacm``, ``mlx5``, ``nccl``, ``cudart``, ``cuda``; an absent one is left out."""
    found: dict[str, Library] = {}
    for name, library in (*_files(tree), *_wheels(tree)):
        found.setdefault(name, library)
    return found


def _files(tree: Tree) -> Iterator[tuple[str, Library]]:
    for folder in dict.fromkeys(_folders(tree)):
        for file in tree.names(folder):
            for name, pattern in FILES.items():
                if pattern.fullmatch(file):
                    yield name, _library(tree, f"{folder}/{file}")


def _library(tree: Tree, path: str) -> Library:
    target = optional_link(tree, path) or path
    version = VERSION.search(target)
    return Library(version[1] if version else "", target)


def _folders(tree: Tree) -> Iterator[str]:
    given = read_environment(tree).get("LD_LIBRARY_PATH", "")
    yield from (folder.rstrip("/") for folder in given.split(":") if folder.startswith("/"))
    for name in tree.names(CONFIGURATIONS):
        lines = optional_text(tree, f"{CONFIGURATIONS}/{name}").splitlines()
        yield from (line.strip().rstrip("/") for line in lines if line.startswith("/"))
    yield from (*LIBRARY_FOLDERS, "/usr/local/lib", *CUDA_FOLDERS)


def _wheels(tree: Tree) -> Iterator[tuple[str, Library]]:
    for folder in _package_folders(tree):
        for entry in tree.names(folder):
            for name, pattern in WHEELS.items():
                if found := pattern.fullmatch(entry):
                    yield name, Library(found[1], f"{folder}/{entry}")


def _package_folders(tree: Tree) -> Iterator[str]:
    for root in PYTHONS:
        pythons = (name for name in tree.names(root) if name.startswith("python3"))
        yield from (f"{root}/{python}/{packages}" for python in pythons for packages in PACKAGES)
