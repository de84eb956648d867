"""What is mounted where in this mount namespace."""

from dataclasses import dataclass

from probes._host import Tree

PATH = "/proc/self/mountinfo"
LIMIT_BYTES = 4 << 20
TELLING = frozenset({"/", "/dev"})


@dataclass(frozen=True, slots=True)
class Mount:
    """One mount: where it is seen, and the type of its filesystem."""

    point: str
    filesystem: str


def read_mounts(tree: Tree) -> tuple[Mount, ...]:
    """All mounts in the kernel's order, later ones over earlier ones; none where /proc does not tell."""
    return tuple(mount for line in _lines(tree) if (mount := _mount(line)))


def mount_lines(tree: Tree) -> list[str]:
    """The lines that tell a container from a machine, with what is mounted there, but not from where."""
    kept = (one for one in read_mounts(tree) if one.point in TELLING or one.point.startswith("/dev/"))
    return [f"0 0 0:0 / {one.point} rw - {one.filesystem}" for one in kept]


def mount_at(mounts: tuple[Mount, ...], point: str) -> Mount | None:
    """The mount that is seen at a path; None when nothing is mounted right there."""
    return next((one for one in reversed(mounts) if one.point == point), None)


def _lines(tree: Tree) -> list[str]:
    try:
        return tree.text(PATH, LIMIT_BYTES).splitlines()
    except OSError:
        return []


def _mount(line: str) -> Mount | None:
    own, separator, rest = line.partition(" - ")
    fields, filesystem = own.split(), rest.split(maxsplit=1)
    if not separator or len(fields) < 6 or not filesystem:
        return None
    return Mount(fields[4], filesystem[0])
