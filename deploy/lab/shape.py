"""What the guests of one lab are made of. Labs of different shapes have their own guests and run side by side."""

from dataclasses import dataclass
from pathlib import Path

from deploy.lab import cache

AGENT_PORT = 1000
API_PORT = 9842


@dataclass(frozen=True)
class Door:
    """An address and TCP port, both as guests see them, behind which a command of the host answers each connection."""

    address: str
    port: int
    command: str


@dataclass(frozen=True)
class Shape:
    """A kind of guest. ``packages`` and ``modules`` come on top of the image's own.

    The second disk is the program's, which guests share; with ``disk`` it is one of the guest's own that it may write,
    ``NAME.disk`` in the run directory.
    """

    name: str
    memory_mib: int
    processors: int = 1
    packages: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    doors: tuple[Door, ...] = ()
    disk: bool = False

    @property
    def guests(self) -> "tuple[Guest, ...]":
        """Two of them, as the private network is one cable."""
        return Guest("node-a", 1, self), Guest("node-b", 2, self)

    @property
    def run_directory(self) -> Path:
        """Sockets, logs and lab.json of the running guests."""
        return cache.directory() / "run" / self.name


@dataclass(frozen=True)
class Guest:
    """A planned guest; `index` makes its address and its MACs."""

    name: str
    index: int
    shape: Shape

    @property
    def address(self) -> str:
        """Its IPv4 address in the test network."""
        return f"192.0.2.{self.index}"

    @property
    def run_directory(self) -> Path:
        """Where its QEMU starts."""
        return self.shape.run_directory

    @property
    def disk(self) -> Path:
        """Its own disk, where the shape has one."""
        return self.run_directory / f"{self.name}.disk"


# A small Python program runs in these. The name is that of no directory: its run directory is older than shapes.
PLAIN = Shape("", memory_mib=640)
