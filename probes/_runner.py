"""In a test pod the tools load the libibverbs of the workload's image, and the runner's own only where that cannot be.

What the workload will load is what has to be proved, however old. A program is therefore tried in three ways, each by
asking a loader what the program would load, and the first way that leaves nothing open is taken:

1. by the image's loader, with the image's C library and libibverbs: images at least as new as the runner;
2. by the runner's loader and C library, with the image's libibverbs: older images;
3. by the runner's loader with all of its own: images that have none, or one that neither C library can load (musl).

A tool that the image itself has on its PATH is started as it is. libibverbs finds drivers in a folder that was compiled
in and by RDMAV_DRIVERS, which takes absolute paths. Only the runner's own libibverbs is given the runner's drivers, so
that a driver which the image lacks stays missing.
"""

import os
import re
import shutil
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from probes._endpoint import Ended
from probes._host import Command, Completed, Tree
from probes.readers.libraries import read_libraries

# Where every program for Linux with the GNU C library says that its loader is.
LOADERS = ("/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1")
DRIVER = re.compile(r"(lib\w+)-rdmav\d+\.so")
# Beside a library or a version that is not there: another C library, of which a process can have only one.
MISSING = re.compile(r"\S+(?:: version `\S+')? (?:=> )?not found|libc\.musl\S+")
# Tells a child why it has the runner's libibverbs: a reason of runtime.memory_lock and what was found.
FALLBACK = "RDMA_GATE_FALLBACK"
LIST_SECONDS = 10.0
NO_ANSWER = "no answer found"

Run = Callable[[Command], Awaitable[Completed]]


@dataclass(frozen=True, slots=True)
class Image:
    """What the workload's image has: the paths of its loader and of its libibverbs, empty where there is none."""

    loader: str
    libibverbs: str


@dataclass(frozen=True, slots=True)
class Way:
    """One way to start a program: a loader, the folders it looks into first, and the variables that it needs."""

    loader: str
    folders: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)

    def argv(self, program: str, *options: str) -> tuple[str, ...]:
        """The program as started this way, without its arguments; the options are the loader's."""
        return (self.loader, *options, "--library-path", ":".join(self.folders), program)


class Runner:
    """The tree that deploy/runner made, and how each of its programs is started in this image."""

    def __init__(self, root: Path, image: Image) -> None:
        self._root = root
        self._image = image
        self._known: dict[str, Way] = {}

    def environment(self, given: Mapping[str, str]) -> dict[str, str]:
        """The same environment, in which the runner's tools are found after all others."""
        return {**given, "PATH": f"{given.get('PATH', os.defpath)}:{self._root}/tools"}

    async def launched(self, command: Command, search_path: str, run: Run) -> Command:
        """The command as it has to be started here; one that is not the runner's stays as it is."""
        program = shutil.which(command.argv[0], path=search_path) or ""
        if Path(program).parent not in (self._root / "tools", self._root / "bin"):
            return command
        way = self._known.get(program) or await self._choose(program, run)
        # A loader that did not answer in time is asked again.
        if NO_ANSWER not in way.environment.get(FALLBACK, ""):
            self._known[program] = way
        argv = (*way.argv(program), *command.argv[1:])
        return replace(command, argv=argv, environment={**way.environment, **command.environment})

    async def _choose(self, program: str, run: Run) -> Way:
        if not self._image.libibverbs:
            return self._own("libibverbs_missing: no libibverbs.so.1 found")
        refusal = ""
        for way in self._ways_with_the_image():
            refusal = await self._refusal(way, program, run)
            if not refusal:
                return way
        return self._own(f"libibverbs_not_loaded: {refusal}")

    def _ways_with_the_image(self) -> Iterator[Way]:
        before, *after = (f"{self._root}/{name}" for name in ("lib", "gcc", "verbs"))
        folders = (before, *_folders_of(self._image.libibverbs), *after)
        if self._image.loader:
            yield Way(self._image.loader, folders)
        yield Way(f"{self._root}/ld.so", (f"{self._root}/glibc", *folders))

    def _own(self, why: str) -> Way:
        folders = tuple(f"{self._root}/{name}" for name in ("glibc", "lib", "gcc", "verbs"))
        return Way(f"{self._root}/ld.so", folders, {"RDMAV_DRIVERS": ":".join(self._drivers()), FALLBACK: why})

    def _drivers(self) -> Iterator[str]:
        folder = self._root / "verbs" / "libibverbs"
        for file in sorted(folder.iterdir()) if folder.is_dir() else ():
            if found := DRIVER.fullmatch(file.name):
                yield str(folder / found[1])

    async def _refusal(self, way: Way, program: str, run: Run) -> str:
        """What a loader says that is missing to the program or to the image's libibverbs; empty when nothing is."""
        for file in (program, self._image.libibverbs):
            listed = await run(Command(way.argv(file, "--list"), LIST_SECONDS))
            said = f"{listed.stdout}\n{listed.stderr}"
            # Versions that are missing are told on stderr, and the exit status is 0 all the same.
            if found := MISSING.search(said):
                return found[0]
            if listed.ended is not Ended.EXIT:
                return f"{way.loader}: {NO_ANSWER}"
            if listed.exit_status != 0:
                return said.strip().partition("\n")[0] or f"exit status {listed.exit_status} of {way.loader} found"
        return ""


def find_runner(interpreter: str, tree: Tree) -> Runner | None:
    """Return the runner that this interpreter belongs to; None for any other Python."""
    root = Path(interpreter).parent.parent
    if not (root / "ld.so").is_file():
        return None
    library = read_libraries(tree).get("libibverbs")
    loader = next((path for path in LOADERS if tree.exists(path)), "")
    return Runner(root, Image(loader, library.path if library else ""))


def _folders_of(library: str) -> Iterator[str]:
    """Its folder and, where /lib is not /usr/lib, the other half: libnl's two libraries lie on either side."""
    folder = str(Path(library).parent)
    yield folder
    yield folder.removeprefix("/usr") if folder.startswith("/usr/lib") else f"/usr{folder}"
