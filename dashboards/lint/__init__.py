"""Every board can be imported anywhere, read at a glance, and asks only for what the exporter emits.

The rules are those of Grafana's own dashboard-linter, with our mandatory selectors in place of job and instance, and
rules for what it does not look at: the grid, units that fit the metric, and values that are missing.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

from alerts.lint.emitted import Emitted
from dashboards.lint.board import Board, Panel, read_board
from dashboards.lint.expressions import expression_mistakes
from dashboards.lint.layout import layout_mistakes
from dashboards.lint.looks import look_mistakes
from dashboards.lint.variables import CHOSEN, variable_mistakes

BOARDS = Path(__file__).parents[1]
UID_LIMIT = 40


def files() -> list[Path]:
    """The committed boards."""
    return sorted(BOARDS.glob("*.json"))


def mistakes(paths: Iterable[Path], emitted: Emitted) -> Iterator[str]:
    """Return a line for each mistake in these files: "file: panel: found, wanted"."""
    uids: set[str] = set()
    for path in paths:
        board = read_board(path)
        for sentence in (*_board_mistakes(board, uids), *variable_mistakes(board, emitted)):
            yield f"{board.place}: {sentence}"
        for panel, sentence in _panels(board, emitted):
            yield f"{board.place}: panel {panel.title!r}: {sentence}"
        uids.add(board.raw.get("uid", ""))


def _board_mistakes(board: Board, uids: set[str]) -> Iterator[str]:
    raw = board.raw
    uid = raw.get("uid") or ""
    if not 0 < len(uid) <= UID_LIMIT or uid in uids:
        yield f"uid {uid!r} found, one of its own of at most {UID_LIMIT} characters wanted"
    if raw.get("editable") is not False:
        yield f"editable {raw.get('editable')} found, false wanted: the next import would undo what people edit"
    for name in ("id", "__inputs", "__requires", "gnetId"):
        if raw.get(name):
            yield f"{name} found, none wanted: it belongs to one Grafana"
    for name in ("title", "description", "tags"):
        if not raw.get(name):
            yield f"no {name} found, one wanted"
    if not any(link.get("includeVars") and link.get("keepTime") for link in raw.get("links") or ()):
        yield "no link that keeps variables and time found, one to the other boards wanted"


def _panels(board: Board, emitted: Emitted) -> Iterator[tuple[Panel, str]]:
    yield from layout_mistakes(board.panels)
    for panel in board.panels:
        if not panel.is_heading:
            sentences = [*_panel_mistakes(panel), *look_mistakes(panel)]
            sentences += [line for one in panel.targets for line in expression_mistakes(board, one, emitted)]
            yield from ((panel, sentence) for sentence in sentences)


def _panel_mistakes(panel: Panel) -> Iterator[str]:
    for name in ("title", "description"):
        if not panel.raw.get(name):
            yield f"no {name} found, one wanted"
    if not panel.targets:
        yield "no target found, at least one wanted"
    if len({target.name for target in panel.targets}) < len(panel.targets):
        yield "two targets of one refId found, one of its own for each wanted"
    for source in [panel.raw, *(target.raw for target in panel.targets)]:
        uid = (source.get("datasource") or {}).get("uid")
        if uid != CHOSEN:
            yield f"data source {uid!r} found, {CHOSEN} wanted"
