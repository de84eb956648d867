"""Programs written in Go are built from the small modules under ``assets``, once for each content and compiler."""

import contextlib
import fcntl
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from deploy.demo.prometheus import NotAvailableError
from deploy.kube import child
from deploy.lab import cache
from deploy.lab.progress import Say

MODULES = Path(__file__).with_name("assets")
SAY_EVERY_SECONDS = 60.0
LOCK_POLL_SECONDS = 1.0
FLAGS = ("-trimpath", "-buildvcs=false", "-mod=readonly")
# A module proxy that failed once often answers the second time, and what was compiled is not compiled again.
TRIES = 2


@dataclass(frozen=True)
class Program:
    """One main package of a module under ``assets``.

    ``stamps`` are the linker's variables that hold the version; ``{version}``, ``{major}`` and ``{minor}`` stand for
    what go.mod says of ``product``, which is None where the module is all our own.
    """

    name: str
    module: Path
    product: str | None
    package: str
    stamps: tuple[str, ...] = ()

    @property
    def version(self) -> str:
        """The product's version without its v, such as 1.37.2; ValueError where go.mod does not require it.

        What is our own has none, which is told as 0.0.0.
        """
        if self.product is None:
            return "0.0.0"
        text = (self.module / "go.mod").read_text()
        found = re.search(rf"^(?:require|\t) ?{re.escape(self.product)} v(\S+)", text, re.MULTILINE)
        if found is None:
            raise ValueError(f"{self.module}/go.mod: no version of {self.product}, wanted one")
        return found[1]

    @property
    def link_flags(self) -> str:
        """No debugging symbols, the true version."""
        major, minor, *_ = self.version.split(".")
        values = {"version": self.version, "major": major, "minor": minor}
        return " ".join(["-s -w", *(f"-X {stamp.format(**values)}" for stamp in self.stamps)])


def ensure(program: Program, say: Say) -> Path:
    """Return the program from the cache, where it is built if need be; NotAvailableError says why it cannot be."""
    target = root() / "programs" / f"{program.name}-{program.version}-{_key(program)}"
    if not target.exists():
        with _lock(say):
            if not target.exists():
                _build(program, target, say)
    return target / program.name


def root() -> Path:
    """Where programs, Go's modules and its compiled packages are kept, outside the tree."""
    return cache.directory() / "kube"


def environment(scratch: str) -> dict[str, str]:
    """What go is run with: the machine's own, its module proxy too; what Go keeps lies in our cache."""
    kept = {"GOCACHE": str(root() / "go" / "build"), "GOMODCACHE": str(root() / "go" / "modules")}
    return {**os.environ, **kept, "GOTMPDIR": scratch, "GOWORK": "off", "CGO_ENABLED": "0"}


def _key(program: Program) -> str:
    files = [path.read_bytes() for path in _files(program.module)]
    return cache.digest([*files, _compiler(program.module), program.package, program.link_flags, *FLAGS])


def _files(module: Path) -> list[Path]:
    """What the build reads of ours: a module without requirements has no go.sum, most have no sources of their own."""
    sums = [path for path in (module / "go.mod", module / "go.sum") if path.exists()]
    own = sorted(path for path in module.rglob("*.go") if not path.name.endswith("_test.go"))
    return [*sums, *own]


def _compiler(module: Path) -> str:
    """The one that go chooses for this module."""
    if shutil.which("go") is None:
        raise NotAvailableError("go: not on PATH, wanted it to build the parts of Kubernetes")
    answer = subprocess.run(["go", "version"], cwd=module, check=False, capture_output=True, text=True)
    if answer.returncode != 0:
        raise NotAvailableError(f"go version: exit status {answer.returncode} found ({_last(answer.stderr)}), wanted 0")
    return answer.stdout


def _build(program: Program, target: Path, say: Say) -> None:
    with cache.whole(target) as work:
        for left in reversed(range(TRIES)):
            try:
                _compile(program, work, say)
                break
            except NotAvailableError as error:
                if not left:
                    raise
                say(f"{error}; once more")


def _compile(program: Program, work: Path, say: Say) -> None:
    label, begun = f"{program.name} {program.version}", time.monotonic()
    argv = ["go", "build", *FLAGS, "-ldflags", program.link_flags, "-o", str(work / program.name), program.package]
    say(f"building {label}, which is kept in {root()}")
    # Go's scratch takes a gigabyte: in here it is cleared by the next build if this one is killed.
    with tempfile.TemporaryDirectory(dir=work) as folder:
        log = Path(folder) / "log"
        status = _wait(child.start(argv, log, folder=program.module, environment=environment(folder)), label, say)
        if status != 0:
            raise NotAvailableError(f"{label}: go could not build it ({_last(log.read_text())})")
    say(f"built {label} in {time.monotonic() - begun:.0f} s")


def _wait(build: child.Child, label: str, say: Say) -> int:
    begun = time.monotonic()
    try:
        while True:
            with contextlib.suppress(subprocess.TimeoutExpired):
                return build.popen.wait(SAY_EVERY_SECONDS)
            say(f"building {label}, {(time.monotonic() - begun) / 60:.0f} min so far")
    finally:
        build.kill()


@contextlib.contextmanager
def _lock(say: Say) -> Iterator[None]:
    """One build at a time on this machine; who waits says so."""
    root().mkdir(parents=True, exist_ok=True)
    with (root() / "build.lock").open("w") as file:
        asked = time.monotonic() - SAY_EVERY_SECONDS
        while not _locked(file.fileno()):
            if time.monotonic() - asked >= SAY_EVERY_SECONDS:
                asked = time.monotonic()
                say("waiting for another run that is building parts of Kubernetes")
            time.sleep(LOCK_POLL_SECONDS)
        yield


def _locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _last(text: str) -> str:
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "it said nothing")
