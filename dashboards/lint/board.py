"""A board as its file has it, flattened: panels with their targets, and variables."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Target:
    """One expression; ``columns`` are the labels that a table shows of it."""

    name: str
    expr: str
    legend: str
    is_instant: bool
    columns: tuple[str, ...]
    raw: Json


@dataclass(frozen=True, slots=True)
class Panel:
    """One panel or row heading; places and sizes are in the grid's units."""

    kind: str
    title: str
    x: int
    y: int
    width: int
    height: int
    targets: tuple[Target, ...]
    raw: Json

    @property
    def is_heading(self) -> bool:
        """Whether it is a row's heading."""
        return self.kind == "row"

    @property
    def defaults(self) -> Json:
        """How its fields look, but for overrides."""
        found: Json = self.raw.get("fieldConfig", {}).get("defaults", {})
        return found


@dataclass(frozen=True, slots=True)
class Board:
    """One file. ``place`` begins each message about it."""

    place: str
    panels: tuple[Panel, ...]
    variables: tuple[Json, ...]
    raw: Json

    def variable_names(self) -> frozenset[str]:
        """The names of its variables."""
        return frozenset(one["name"] for one in self.variables)


def read_board(path: Path) -> Board:
    """Read a board's JSON; ValueError when it is none."""
    raw = json.loads(path.read_text())
    place = f"{path.parent.name}/{path.name}"
    panels = tuple(_panel(one) for one in _flat(raw.get("panels", ())))
    return Board(place, panels, tuple(raw.get("templating", {}).get("list", ())), raw)


def _flat(panels: list[Json]) -> Iterator[Json]:
    for one in panels:
        yield one
        yield from _flat(one.get("panels") or [])


def _panel(raw: Json) -> Panel:
    grid = raw.get("gridPos", {})
    x, y, width, height = (int(grid.get(name, 0)) for name in "xywh")
    columns = tuple(_columns(raw))
    targets = tuple(_target(one, columns) for one in raw.get("targets") or ())
    return Panel(raw.get("type", ""), raw.get("title", ""), x, y, width, height, targets, raw)


def _columns(raw: Json) -> Iterator[str]:
    for change in raw.get("transformations") or ():
        if change["id"] == "organize":
            yield from change["options"]["renameByName"]


def _target(raw: Json, columns: tuple[str, ...]) -> Target:
    legend = raw.get("legendFormat", "")
    return Target(raw.get("refId", ""), raw.get("expr", ""), legend, bool(raw.get("instant")), columns, raw)
