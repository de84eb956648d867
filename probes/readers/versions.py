"""Versions of what RDMA stands on: kernel, drivers, libraries. ``""`` where a thing is absent or does not tell."""

import re
from collections.abc import Mapping

from probes._host import Tree
from probes.readers.optional import optional_link, optional_text

LIBRARY_FOLDERS = ("/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/lib64", "/usr/lib")
# libibverbs.so.1.14.44.0 belongs to rdma-core 44.0
LIBRARY = re.compile(r"libibverbs\.so\.\d+\.\d+\.(\d+\.\d+)$")
NVIDIA = re.compile(r"Kernel Module(?: for \S+)?\s+([\d.]+)")


def read_versions(tree: Tree) -> Mapping[str, str]:
    """By name: ``kernel``, ``rdma_core``, ``nvidia``, ``nvidia_open``, and modules that tell a version of their own.

    These are ``mlx5_core`` (out-of-tree drivers only) and ``nvidia_peermem`` (when loaded).
    """
    nvidia = optional_text(tree, "/proc/driver/nvidia/version")
    found = NVIDIA.search(nvidia)
    return {
        "kernel": optional_text(tree, "/proc/sys/kernel/osrelease"),
        "rdma_core": _rdma_core(tree),
        "mlx5_core": optional_text(tree, "/sys/module/mlx5_core/version"),
        "nvidia": found[1] if found else optional_text(tree, "/sys/module/nvidia/version"),
        "nvidia_peermem": optional_text(tree, "/sys/module/nvidia_peermem/version"),
        "nvidia_open": ("yes" if "Open Kernel Module" in nvidia else "no") if nvidia else "",
    }


def _rdma_core(tree: Tree) -> str:
    links = (optional_link(tree, f"{folder}/libibverbs.so.1") for folder in LIBRARY_FOLDERS)
    return next((found[1] for link in links if (found := LIBRARY.search(link))), "")
