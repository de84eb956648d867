"""The result as a table: each fault, what the gate said of it and when, and when it was over."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from deploy.lab_k8s.drive import Row

COLUMNS = ("fault", "looked for in", "status", "reason", "seconds to see", "to open again")
CAPTION = (
    "Seconds run from the moment the fault is begun, and from the moment it is undone. What was not seen as stated is "
    "marked with !"
)


def show(console: Console, rows: Sequence[Row]) -> None:
    """Print the table and, below it, what was found where something else was wanted."""
    table = Table(*COLUMNS, caption=CAPTION, caption_justify="left")
    for row in rows:
        table.add_row(*cells(row))
    console.print(table)
    missed = [row for row in rows if not is_good(row)]
    for row in missed:
        found = f"{row.seen.status} {row.seen.reason}".strip()
        text = f"{row.case}: {row.place}: {found} found ({row.seen.summary}), {row.wanted} wanted"
        console.print(text, markup=False, highlight=False)
    console.print(f"{len(rows) - len(missed)} of {len(rows)} sights as stated and over", highlight=False)


def is_good(row: Row) -> bool:
    """Whether it was seen as stated and the gate opened again."""
    return row.seen.as_wanted and row.recovered_seconds is not None


def cells(row: Row) -> tuple[str, ...]:
    """One row's texts."""
    recovered = "not" if row.recovered_seconds is None else f"{row.recovered_seconds:.0f}"
    mark = "" if row.seen.as_wanted else "! "
    return (row.case, row.place, mark + row.seen.status, row.seen.reason, f"{row.seen.seconds:.0f}", recovered)
