"""The result as a table: each fault, who was told what and when, and whether that was all."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from deploy.demo.told import told as in_words
from deploy.pages.drive import Row
from deploy.pages.judge import news

COLUMNS = (
    "fault",
    "alert",
    "owner",
    "severity",
    "s to gate page",
    "s to notification",
    "notifications",
    "s to resolved",
)
CAPTION = (
    "Seconds count from the fault; those to resolved from its restoration. (+1) is one more about the same open page "
    "or ticket: another check of the node, or the end of an earlier alert that Alertmanager repeats beside it."
)


def show(console: Console, rows: Sequence[Row]) -> None:
    """Print the table, all notifications in their order, what fired without being told, and what was not as wanted."""
    for row in rows:
        console.print(f"{row.case}:", markup=False, highlight=False)
        for one in row.told:
            console.print(f"    {one.at - row.shown.made:6.1f} s  {in_words(one)}", markup=False, highlight=False)
        console.print(f"    fired: {', '.join(row.fired) or 'nothing'}", markup=False, highlight=False)
    table = Table(*COLUMNS, caption=CAPTION, caption_justify="left")
    for row in rows:
        table.add_row(*cells(row))
    console.print(table)
    for row in rows:
        for sentence in row.mistakes:
            console.print(f"{row.case}: {sentence}", markup=False, highlight=False)
    good = sum(not row.mistakes for row in rows)
    console.print(f"{good} of {len(rows)} faults told as wanted, once, and resolved", highlight=False)


def cells(row: Row) -> tuple[str, ...]:
    """One row's texts; the alert is marked with ! where anything is not as wanted."""
    mark = "! " if row.mistakes else ""
    again = sum(one.status == "firing" for one in row.told) - len(news(row.told))
    wanted = row.wanted
    return (
        row.case,
        f"{mark}{wanted.alert} {wanted.node}".rstrip(),
        wanted.owner,
        wanted.severity,
        f"{row.shown.seconds:.1f}" if row.shown.as_wanted else "not",
        _seconds(row.told_seconds),
        f"{len(news(row.told))}{f' (+{again})' if again else ''}",
        _seconds(row.resolved_seconds),
    )


def _seconds(found: float | None) -> str:
    return "not" if found is None else f"{found:.1f}"
