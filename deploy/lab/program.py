"""The program under test is on a second disk, shared read-only by the guests and renewed without a reboot.

The disk is part of the saved machine and is never mounted before saving, so its content may change
between one restore and the next, and at any time while no guest has it mounted.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from deploy.lab import cache, ext4, vm
from deploy.lab.guest_rpc import GuestError
from deploy.lab.image import Image
from deploy.lab.node import PROGRAM_MOUNT, Node
from deploy.lab.progress import Say
from deploy.lab.shape import PLAIN

REPOSITORY = cache.HERE.parents[1]
REQUIREMENTS = REPOSITORY / "requirements/node.txt"
PACKAGES = ("exporter", "probes")
DISK_BYTES = 256 << 20
PLATFORMS = ("manylinux_2_34_x86_64", "manylinux_2_28_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64")


class NoProgram(Exception):
    """The program's disk could not be made."""


def ensure_disk() -> None:
    """An empty disk will do: the machine wants a file of the right size."""
    path = disk()
    if not path.exists():
        path.touch()
        os.truncate(path, DISK_BYTES)


def disk() -> Path:
    """The file behind the guests' /dev/vdb."""
    return PLAIN.run_directory / vm.PROGRAM_DISK


def push(nodes: tuple[Node, ...], image: Image, requirements: Path, source: Path, say: Say) -> None:
    """Make the disk from `source` and the locked requirements, and mount it in all guests.

    A node process that runs is started again from the new disk.
    """
    dependencies = install_dependencies(requirements, image.python, say)
    with cache.lock("run"):
        content = collect(dependencies, source, image.python)
        for node in nodes:
            node.end()
            unmount(node)
        write_disk(content)
        for node in nodes:
            mount(node)
            node.resume()
    say(f"pushed {source} to {', '.join(node.name for node in nodes)}")


def install_dependencies(requirements: Path, python: str, say: Say) -> Path:
    """Unpack the wheels for the guest's Python, once for each content of the lock file."""
    if not requirements.is_file():
        raise NoProgram(f"{requirements}: not there, wanted the node's locked requirements (--requirements)")
    target = cache.directory() / "dependencies" / cache.digest([requirements.read_bytes(), python])
    with cache.lock("dependencies"):
        if target.exists():
            return target
        say(f"installing {requirements} for Python {python}")
        with cache.whole(target) as work:
            pip_install(requirements, python, work)
            compile_for(python, work)
    return target


def pip_install(requirements: Path, python: str, target: Path) -> None:
    """Wheels only: nothing is compiled from C, since the host's Python may be another one."""
    command = [
        *(sys.executable, "-m", "pip", "install", "--quiet", "--no-compile", "--root-user-action=ignore"),
        *("--target", str(target), "--only-binary=:all:", "--implementation=cp", f"--python-version={python}"),
        *(f"--platform={name}" for name in PLATFORMS),
        *("--requirement", str(requirements)),
    ]
    if subprocess.run(command, check=False).returncode != 0:
        raise NoProgram(f"{requirements}: pip could not install it for Python {python}")


def collect(dependencies: Path, source: Path, python: str) -> Path:
    """Lay out the disk's content: our packages at the top, the dependencies in site-packages as hard links."""
    if not (source / "exporter").is_dir():
        raise NoProgram(f"{source}: no exporter package in it")
    content = cache.directory() / "content"
    shutil.rmtree(content, ignore_errors=True)
    shutil.copytree(dependencies, content / "site-packages", copy_function=os.link)
    for name in PACKAGES:
        if (source / name).is_dir():
            shutil.copytree(source / name, content / name, ignore=shutil.ignore_patterns("__pycache__"))
            compile_for(python, content / name)
    return content


def compile_for(python: str, tree: Path) -> None:
    """The disk is read-only and TCG is slow, so compile here when the host has that Python; else do without."""
    if f"{sys.version_info.major}.{sys.version_info.minor}" == python:
        interpreter: str | None = sys.executable
    else:
        interpreter = shutil.which(f"python{python}")
    if interpreter:
        # Best effort: some packages ship templates that are no valid Python.
        subprocess.run([interpreter, "-m", "compileall", "-q", str(tree)], check=False, stdout=subprocess.DEVNULL)


def unmount(node: Node) -> None:
    """The kernel forgets what it read of a disk once nobody has it open."""
    result = node.run(f"! mountpoint -q {PROGRAM_MOUNT} || umount {PROGRAM_MOUNT}")
    if result.rc != 0:
        raise GuestError(f"{node.name}: the old program is in use: {result.err.strip()}")


def write_disk(content: Path) -> None:
    """In place, since the guests' QEMUs have this very file open."""
    try:
        ext4.write(disk(), content, DISK_BYTES)
    except subprocess.CalledProcessError as error:
        raise NoProgram(f"{disk()}: {error.stderr.strip()} (room for {DISK_BYTES >> 20} MiB)") from error


def mount(node: Node) -> None:
    """Where Python finds it: see node.ENVIRONMENT."""
    result = node.run(["mount", "-t", "ext4", "-o", "ro", "/dev/vdb", PROGRAM_MOUNT])
    if result.rc != 0:
        raise GuestError(f"{node.name}: cannot mount the program: {result.err.strip()}")
