"""Panels lie beside each other on the grid, with numbers that stay, and titles that can be read."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations

from dashboards.lint.board import Panel

COLUMNS = 24
CHARACTERS_PER_COLUMN = 7
LEAST_HEIGHT = 3


def layout_mistakes(panels: Sequence[Panel]) -> Iterator[tuple[Panel, str]]:
    """Return each panel that lies wrong, and a sentence about it."""
    ids = Counter(panel.raw.get("id") for panel in panels)
    for panel in panels:
        number = panel.raw.get("id")
        if not number or ids[number] > 1:
            yield (
                panel,
                f"id {number} found on {ids[number]} panels, one of its own wanted: links and alerts point at it",
            )
        yield from ((panel, sentence) for sentence in _size(panel))
    for one, other in combinations(panels, 2):
        if _overlap(one, other):
            yield other, f"overlaps panel {one.title!r} found, room of its own wanted"
    for panel in panels:
        if panel.is_heading and (panel.x, panel.width) != (0, COLUMNS):
            yield panel, f"a heading of {panel.width} columns from {panel.x} found, the whole width wanted"
    yield from _gaps(panels)


def _size(panel: Panel) -> Iterator[str]:
    if panel.width < 1 or panel.height < 1 or panel.x < 0 or panel.y < 0:
        yield f"{panel.width} x {panel.height} at {panel.x}, {panel.y} found, a place on the grid wanted"
    if panel.x + panel.width > COLUMNS:
        yield f"columns {panel.x} to {panel.x + panel.width} found, at most {COLUMNS} wanted"
    if not panel.is_heading and panel.height < LEAST_HEIGHT:
        yield f"height {panel.height} found, at least {LEAST_HEIGHT} wanted"
    room = panel.width * CHARACTERS_PER_COLUMN
    if len(panel.title) > room:
        yield f"a title of {len(panel.title)} characters found, at most {room} wanted: it would be cut off"


def _overlap(one: Panel, other: Panel) -> bool:
    beside = one.x + one.width <= other.x or other.x + other.width <= one.x
    apart = one.y + one.height <= other.y or other.y + other.height <= one.y
    return not (beside or apart)


def _gaps(panels: Sequence[Panel]) -> Iterator[tuple[Panel, str]]:
    """Grafana moves panels up over free lines, so a file with gaps is not what people see."""
    bottom = 0
    for panel in sorted(panels, key=lambda one: one.y):
        if panel.y > bottom:
            yield panel, f"{panel.y - bottom} free lines above it found, none wanted: Grafana moves it up"
        bottom = max(bottom, panel.y + panel.height)
