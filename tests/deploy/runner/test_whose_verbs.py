"""Whose libibverbs the tools load: the image's, by whichever C library can, else the runner's own with a reason."""

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from deploy.runner.libraries import copy_libraries, libraries
from deploy.runner.verbs import copy_drivers, copy_tools
from exporter.pods.manifest import RUNNER

HERE = Path(__file__).parent
LIMIT_SECONDS = 300.0
FOLDER = Path("/usr/lib/x86_64-linux-gnu")
VERSIONS = "VERBS_1 { whose; }; VERBS_2 { newer; };"
CONTAINER = """\
set -e
mount --bind "$1" "$1"
mount --bind /dev/null "$1/dev/null"
mount -t proc proc "$1/proc"
mount -o remount,ro,bind "$1"
root=$1
shift
exec chroot --userspec=12345:12345 --groups= "$root" "$@"
"""


@dataclass(frozen=True)
class Built:
    """A machine's RDMA: its tools in one folder, its libraries in the other, and a libibverbs of somebody else."""

    tools: Path
    libraries: Path
    other: Path


def build(to: Path, *flags: str) -> Path:
    """Compile one part of verbs.c."""
    to.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["cc", "-o", str(to), str(HERE / "verbs.c"), *flags], check=True, timeout=LIMIT_SECONDS)
    return to


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    if shutil.which("cc") is None:
        pytest.skip("not run: cc: not on PATH")
    machine = tmp_path_factory.mktemp("machine")
    tools, own, other = machine / "bin", machine / "lib", machine / "other"
    versions = machine / "versions"
    versions.write_text(VERSIONS)
    shared = ("-shared", "-fPIC", "-Wl,-soname,libibverbs.so.1", f"-Wl,--version-script={versions}")
    older = (*shared[:-1], f"-Wl,--version-script={machine / 'older'}")
    (machine / "older").write_text("VERBS_1 { whose; };")
    library = build(own / "libibverbs.so.1", *shared, "-DLIBRARY", "-DNEWER", '-DWHOSE="the runner\'s"')
    build(other / "libibverbs.so.1", *older, "-DLIBRARY", '-DWHOSE="the image\'s"')
    build(own / "libmlx5.so.1.24.44.0", "-shared", "-fPIC", "-DDRIVER")
    build(own / "libibverbs" / "librxe-rdmav34.so", "-shared", "-fPIC", "-DDRIVER")
    (own / "libibverbs" / "libmlx5-rdmav34.so").symlink_to("../libmlx5.so.1.24.44.0")
    linked = ("-DTOOL", str(library), f"-Wl,-rpath,{own}", "-Wl,-z,now")
    build(tools / "ibv_devices", *linked)
    build(tools / "ib_write_bw", *linked, "-DNEEDS_NEWER")
    return Built(tools, own, other)


@pytest.fixture
def runner(tmp_path: Path, tree: Path, built: Built) -> Path:
    """The tree with these tools in place of what this machine has, and a root around it that has nothing else."""
    root = tmp_path / "root"
    runner = root / RUNNER.strip("/")
    shutil.copytree(tree, runner, copy_function=os.link, ignore=shutil.ignore_patterns("tools", "verbs"), symlinks=True)
    tools = copy_tools(runner, str(built.tools))
    copy_libraries([*tools, *copy_drivers(tools, runner)], runner)
    for folder in ("dev", "proc"):
        (root / folder).mkdir()
    (root / "dev" / "null").touch()
    shutil.copy2(HERE / "ask.py", root / "ask.py")
    return runner


def add_loader(root: Path, runner: Path) -> None:
    """Give the image a C library of its own, with its loader: this machine's."""
    for library in libraries(runner / "bin" / "python3"):
        to = root / (library if library.name.startswith("ld-") else FOLDER / library.name).relative_to("/")
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(library.resolve(), to)


def add_libibverbs(root: Path, library: Path) -> None:
    folder = root / FOLDER.relative_to("/")
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy2(library, folder / "libibverbs.so.1")


def ask(runner: Path, *programs: str) -> list[list[object]]:
    """What ask.py says of these programs, as an unprivileged user of the image."""
    if os.geteuid() != 0 or subprocess.run(["unshare", "-mp", "true"], check=False).returncode != 0:
        pytest.skip("not run: only root may make a container's root")
    command = [
        f"{RUNNER}/ld.so",
        "--library-path",
        f"{RUNNER}/glibc:{RUNNER}/lib:{RUNNER}/gcc",
        f"{RUNNER}/bin/python3",
    ]
    argv = ["unshare", "-mpf", "sh", "-c", CONTAINER, "sh", str(runner.parent), *command, "-I", "-S", "-B", "/ask.py"]
    done = subprocess.run([*argv, *programs], check=False, capture_output=True, text=True, timeout=LIMIT_SECONDS)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_an_image_with_a_libibverbs_and_a_c_library_gives_both(runner: Path, built: Built) -> None:
    add_libibverbs(runner.parent, built.other / "libibverbs.so.1")
    add_loader(runner.parent, runner)

    ((status, said, loader),) = ask(runner, "ibv_devices an-argument")

    assert (status, said) == (0, "the image's an-argument\n")
    assert str(loader).startswith("/lib")


def test_an_image_whose_c_library_is_of_no_use_gives_its_libibverbs(runner: Path, built: Built) -> None:
    add_libibverbs(runner.parent, built.other / "libibverbs.so.1")

    assert ask(runner, "ibv_devices an-argument") == [[0, "the image's an-argument\n", f"{RUNNER}/ld.so"]]


def test_a_tool_that_needs_more_than_the_images_libibverbs_gets_the_runners_and_its_drivers(
    runner: Path, built: Built
) -> None:
    add_libibverbs(runner.parent, built.other / "libibverbs.so.1")
    add_loader(runner.parent, runner)

    ((status, said, loader),) = ask(runner, "ib_write_bw an-argument")

    drivers = "libmlx5-rdmav34.so librxe-rdmav34.so"
    assert (status, said) == (0, f"the runner's {drivers} the runner's an-argument\n")
    assert loader == f"{RUNNER}/ld.so"


def test_an_empty_image_gets_the_runners_libibverbs_and_every_driver(runner: Path) -> None:
    drivers = "libmlx5-rdmav34.so librxe-rdmav34.so"

    assert ask(runner, "ibv_devices an-argument") == [[0, f"{drivers} the runner's an-argument\n", f"{RUNNER}/ld.so"]]


def test_a_tool_of_the_image_is_started_as_it_is(runner: Path, built: Built) -> None:
    add_loader(runner.parent, runner)
    (runner.parent / "bin").mkdir()
    add_libibverbs(runner.parent, built.other / "libibverbs.so.1")
    shutil.copy2(built.tools / "ibv_devices", runner.parent / "bin" / "ibv_devices")

    assert ask(runner, "ibv_devices an-argument") == [[0, "the image's an-argument\n", ""]]


def test_a_driver_that_is_a_library_too_stays_one_file(runner: Path) -> None:
    driver = runner / "verbs" / "libibverbs" / "libmlx5-rdmav34.so"

    assert driver.readlink() == Path("../libmlx5.so.1")
    assert driver.resolve() == runner / "verbs" / "libmlx5.so.1"
