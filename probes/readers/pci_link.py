"""The PCI Express links between a function and its root port: lanes and speed now, and what both ends could do.

A virtual function has no link of its own: ask for that of its physical function.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from probes._host import Tree
from probes.readers.optional import optional_number, optional_text
from probes.readers.pci import PCI

LANES = frozenset({1, 2, 4, 8, 12, 16, 32})  # 0, 63 and 255 are what absent or unwilling devices answer
SPEED = re.compile(r"(\d+(?:\.\d+)?) GT/s")


@dataclass(frozen=True, slots=True)
class LinkEnd:
    """One end of a link, its speeds in gigatransfers per second; 0 where a value is not told."""

    lanes: int = 0
    lanes_max: int = 0
    gigatransfers: float = 0.0
    gigatransfers_max: float = 0.0


@dataclass(frozen=True, slots=True)
class PciLink:
    """One link: ``lower`` is the address of its end away from the processor; the best is what both ends can."""

    lower: str
    lanes: int
    lanes_best: int
    gigatransfers: float
    gigatransfers_best: float

    @property
    def told(self) -> bool:
        """Whether lanes and speed are known, now and at best."""
        return bool(self.lanes and self.lanes_best and self.gigatransfers and self.gigatransfers_best)

    def __str__(self) -> str:
        lanes, speed = f"x{self.lanes} of x{self.lanes_best}", f"{self.gigatransfers:g} of {self.gigatransfers_best:g}"
        return f"{self.lower}: {lanes}, {speed} GT/s"


def read_links(tree: Tree, path: Sequence[str]) -> tuple[PciLink, ...]:
    """Those on the way of ``path`` (from the host bridge to the function), the one nearest the function last.

    Every second function below the host bridge is a port that faces away from the processor; a function right on the
    root bus tells of its own end alone.
    """
    return tuple(_links(tree, path[1:]))


def _links(tree: Tree, functions: Sequence[str]) -> Iterator[PciLink]:
    for upper, lower in zip(functions[::2], functions[1::2], strict=False):
        yield _link(lower, _read_end(tree, lower), _read_end(tree, upper))
    if len(functions) == 1:
        end = _read_end(tree, functions[0])
        yield _link(functions[0], end, end)


def _link(lower: str, end: LinkEnd, upper: LinkEnd) -> PciLink:
    """An end that does not tell its best is left out of the reckoning."""
    return PciLink(
        lower=lower,
        lanes=end.lanes or upper.lanes,
        lanes_best=min((lanes for lanes in (end.lanes_max, upper.lanes_max) if lanes), default=0),
        gigatransfers=end.gigatransfers or upper.gigatransfers,
        gigatransfers_best=min(
            (speed for speed in (end.gigatransfers_max, upper.gigatransfers_max) if speed), default=0
        ),
    )


def _read_end(tree: Tree, address: str) -> LinkEnd:
    path = f"{PCI}/{address}"
    return LinkEnd(
        lanes=_lanes(tree, f"{path}/current_link_width"),
        lanes_max=_lanes(tree, f"{path}/max_link_width"),
        gigatransfers=_speed(tree, f"{path}/current_link_speed"),
        gigatransfers_max=_speed(tree, f"{path}/max_link_speed"),
    )


def _lanes(tree: Tree, path: str) -> int:
    lanes = optional_number(tree, path)
    return lanes if lanes in LANES else 0


def _speed(tree: Tree, path: str) -> float:
    found = SPEED.search(optional_text(tree, path))
    return float(found[1]) if found else 0.0
