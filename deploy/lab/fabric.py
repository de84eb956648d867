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
from deploy.lab.shape import AGENT_PORT, API_PORT, PLAIN, Guest, Shape

QUIET: Callable[[str], None] = lambda text: None  # noqa: E731


class LabDown(Exception):
    """The guests do not run."""


@dataclass(frozen=True)
class Lab:
    """Two running guests on a private network."""

    nodes: tuple[Node, ...]
    accelerator: str
    image: Image
    shape: Shape = PLAIN

    @staticmethod
    def unavailable() -> str | None:
        """Why guests cannot run here, in words for a test's skip message, or None."""
        reason = host.cannot_run()
        if reason is None and image.find() is None:
            reason = host.cannot_build()
        return reason

    @classmethod
    def load(cls, shape: Shape = PLAIN) -> "Lab":
        """The guests that run now; raises LabDown."""
        try:
            saved = json.loads(state_file(shape).read_text())
        except FileNotFoundError as error:
            raise LabDown("the lab is down (deploy/lab/lab up)") from error
        nodes = tuple(Node(**node) for node in saved["nodes"])
        lab = cls(nodes, saved["accelerator"], Image(Path(saved["image"])), shape)
        for guest in shape.guests:
            if vm.pid(guest) is None:
                raise LabDown(f"{guest.name}: its QEMU is gone (deploy/lab/lab down, then up)")
        return lab

    @classmethod
    def up(cls, *, cold: bool = False, say: Say = QUIET) -> "Lab":
        """The running guests, or new ones from the saved state; `cold` boots and leaves that state alone."""
        built = image.find_or_build(PLAIN, say)
        with cache.lock("run"):
            try:
                return cls.load()
            except LabDown:
                stop(PLAIN)
            PLAIN.run_directory.mkdir(parents=True, exist_ok=True)
            program.ensure_disk()
            return cls.start(PLAIN, built, say, cold=cold)

    @classmethod
    def start(
        cls, shape: Shape, built: Image, say: Say, *, cold: bool, furnishing: boot.Furnishing = boot.NOTHING
    ) -> "Lab":
        """`up` for those who hold the lock and know that no such guests run."""
        try:
            accelerator = boot.bring_up(shape, built, say, cold=cold, furnishing=furnishing)
            lab = cls(tuple(node_of(guest) for guest in shape.guests), accelerator, built, shape)
        except BaseException:
            # An interrupt too must not leave a guest behind.
            stop(shape)
            raise
        saved = {
            "accelerator": accelerator,
            "image": str(built.directory),
            "nodes": [asdict(node) for node in lab.nodes],
        }
        state_file(shape).write_text(json.dumps(saved, indent=2) + "\n")
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
        with cache.lock("run"):
            stop(self.shape)


def node_of(guest: Guest) -> Node:
    """The running guest with the ports that QEMU chose."""
    pid = vm.pid(guest)
    if pid is None:
        raise GuestError(f"{guest.name}: its QEMU is gone")
    ports = boot.ports(guest)
    return Node(guest.name, guest.address, ports[AGENT_PORT], ports[API_PORT], pid)


def state_file(shape: Shape) -> Path:
    """Names, addresses and ports of the running guests, for whoever wants to reach them."""
    return shape.run_directory / "lab.json"


def down() -> int:
    """End the guests and return how many ran."""
    with cache.lock("run"):
        return stop(PLAIN)


def stop(shape: Shape) -> int:
    """`down` for those who hold the lock."""
    state_file(shape).unlink(missing_ok=True)
    return vm.stop_all(shape)


def clean() -> None:
    """Remove the cache; the next build starts from nothing."""
    down()
    shutil.rmtree(cache.directory(), ignore_errors=True)
