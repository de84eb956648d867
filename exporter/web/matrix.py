"""The path matrix as a picture: clients down, servers across, one mark a path; too many ends are only counted."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from exporter.view import PathView

ENDS_SHOWN = 64


@dataclass(frozen=True, slots=True)
class Mark:
    """One path: its column and row, its state, and what is read when a pointer rests on it."""

    column: int
    row: int
    state: str
    title: str


@dataclass(frozen=True, slots=True)
class Matrix:
    """All paths: counts by state, the ends in order, and their marks (none when there are too many ends)."""

    counts: tuple[tuple[str, int], ...]
    clients: tuple[str, ...]
    servers: tuple[str, ...]
    marks: tuple[Mark, ...]


def path_matrix(paths: Sequence[PathView]) -> Matrix:
    """Return the picture's plain data."""
    counts = tuple(sorted(Counter(path.state for path in paths).items()))
    clients = tuple(sorted({path.client for path in paths}))
    servers = tuple(sorted({path.server for path in paths}))
    if max(len(clients), len(servers)) > ENDS_SHOWN:
        return Matrix(counts, clients, servers, ())
    column = {name: index for index, name in enumerate(servers)}
    row = {name: index for index, name in enumerate(clients)}
    marks = (Mark(column[path.server], row[path.client], path.state, _title(path)) for path in paths)
    return Matrix(counts, clients, servers, tuple(marks))


def _title(path: PathView) -> str:
    said = f": {path.summary}" if path.summary else ""
    return f"{path.client} to {path.server}, {path.state.replace('_', ' ')}{said}"
