"""The lab as a whole: both guests up, or none."""

import json
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

from deploy.lab import boot, cache, faults, host, image, program, vm
from deploy.lab.guest_rpc import GuestError
from deploy.lab.image import Image
from deploy.lab.node import Node
from deploy.lab.progress import Say
from deploy.lab.vm import GUESTS

QUIET: Callable[[str], None] = lambda text: None  # noqa: E731


class LabDown(Exception):
    """The guests do not run."""


@dataclass(frozen=True)
class Lab:
    """Two running guests on a private network."""

    nodes: tuple[Node, ...]
    accelerator: str
    image: Image

    @staticmethod
    def unavailable() -> str | None:
        """Why guests cannot run here, in words for a test's skip message, or None."""
        reason = host.cannot_run()
        if reason is None and image.find() is None:
            reason = host.cannot_build()
        return reason

    @classmethod
    def load(cls) -> "Lab":
        """The guests that run now; raises LabDown."""
        try:
            saved = json.loads(state_file().read_text())
        except FileNotFoundError as error:
            raise LabDown("the lab is down (deploy/lab/lab up)") from error
        lab = cls(tuple(Node(**node) for node in saved["nodes"]), saved["accelerator"], Image(Path(saved["image"])))
        for guest in GUESTS:
            if vm.pid(guest) is None:
                raise LabDown(f"{guest.name}: its QEMU is gone (deploy/lab/lab down, then up)")
        return lab

    @classmethod
    def up(cls, *, cold: bool = False, say: Say = QUIET) -> "Lab":
        """The running guests, or new ones from the saved state; `cold` boots and leaves that state alone."""
        built = image.find_or_build(say)
        with cache.lock("run"):
            try:
                return cls.load()
            except LabDown:
                stop()
            return cls._start(built, say, cold=cold)

    @classmethod
    def _start(cls, built: Image, say: Say, *, cold: bool) -> "Lab":
        cache.run_directory().mkdir(parents=True, exist_ok=True)
        program.ensure_disk()
        try:
            accelerator = boot.bring_up(built, say, cold=cold)
            lab = cls(tuple(node_of(guest) for guest in GUESTS), accelerator, built)
        except BaseException:
            # An interrupt too must not leave a guest behind.
            stop()
            raise
        saved = {
            "accelerator": accelerator,
            "image": str(built.directory),
            "nodes": [asdict(node) for node in lab.nodes],
        }
        state_file().write_text(json.dumps(saved, indent=2) + "\n")
        return lab

    def node(self, name: str) -> Node:
        """One node by its name."""
        for node in self.nodes:
            if node.name == name:
                return node
        raise KeyError(f"{name}: no such node, there are {', '.join(node.name for node in self.nodes)}")

    def push(self, *, requirements: Path | None = None, source: Path | None = None, say: Say = QUIET) -> None:
        """Put the program of this checkout, or of `source`, on the guests' second disk."""
        locked, tree = requirements or program.REQUIREMENTS, source or program.REPOSITORY
        program.push(self.nodes, self.image, locked, tree, say)

    def restore(self) -> None:
        """Undo all faults on all nodes."""
        with ThreadPoolExecutor() as pool:
            list(pool.map(faults.restore, self.nodes))

    def down(self) -> None:
        """End the guests; what they wrote is gone."""
        down()


def node_of(guest: vm.Guest) -> Node:
    """The running guest with the ports that QEMU chose."""
    pid = vm.pid(guest)
    if pid is None:
        raise GuestError(f"{guest.name}: its QEMU is gone")
    ports = boot.ports(guest)
    return Node(guest.name, guest.address, ports[vm.AGENT_PORT], ports[vm.API_PORT], pid)


def state_file() -> Path:
    """Names, addresses and ports of the running guests, for whoever wants to reach them."""
    return cache.run_directory() / "lab.json"


def down() -> int:
    """End the guests and return how many ran."""
    with cache.lock("run"):
        return stop()


def stop() -> int:
    """`down` for those who hold the lock."""
    state_file().unlink(missing_ok=True)
    return vm.stop_all()


def clean() -> None:
    """Remove the cache; the next build starts from nothing."""
    down()
    shutil.rmtree(cache.directory(), ignore_errors=True)
