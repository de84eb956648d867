"""The result as a table: each fault, what was said about it and when, and what it left behind."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from deploy.faults.bare_tools import Comparison
from deploy.faults.drive import Row

COLUMNS = ("fault", "check", "status", "reason", "seconds to see", "to recover", "left behind")
CAPTION = (
    "Seconds at the gate run from the moment the fault is made, those of a test from its start. "
    "What was not seen as stated is marked with !"
)


def show(console: Console, rows: Sequence[Row]) -> None:
    """Print the table and, below it, what was found where something else was wanted."""
    table = Table(*COLUMNS, caption=CAPTION, caption_justify="left")
    for row in rows:
        table.add_row(*cells(row))
    console.print(table)
    missed = [row for row in rows if not row.seen.as_wanted or row.recovered_seconds is None]
    for row in missed:
        console.print(f"{row.case}: {row.seen.summary}; {row.sight.wanted} wanted", markup=False, highlight=False)
    console.print(f"{len(rows) - len(missed)} of {len(rows)} faults seen as stated and recovered", highlight=False)


def cells(row: Row) -> tuple[str, ...]:
    """One row's texts."""
    seen = row.seen
    recovered = "not" if row.recovered_seconds is None else f"{row.recovered_seconds:.1f}"
    mark = "" if seen.as_wanted else "! "
    return (
        row.case,
        row.sight.place,
        mark + seen.status,
        seen.reason,
        f"{seen.seconds:.1f}",
        recovered,
        row.left_behind,
    )


def show_comparisons(console: Console, comparisons: Sequence[Comparison]) -> None:
    """Print probe beside bare tool: values in base units, seconds for one exchange of both ends."""
    table = Table("test", "tool printed", "in base units", "probe reports", "bare s", "probe s", "probe adds s")
    for one in comparisons:
        added = f"{one.probe_seconds - one.bare_seconds:+.2f}"
        values = (f"{one.printed_value:.9g}", f"{one.probe_value:.9g}")
        table.add_row(one.test, one.printed, *values, f"{one.bare_seconds:.2f}", f"{one.probe_seconds:.2f}", added)
    console.print(table)
