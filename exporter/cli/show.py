"""Findings and verdicts as tables for a terminal; many nodes with one reason are one row."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from exporter import registry
from probes import Finding, Run

MARKS = {
    "pass": "[green]pass[/]",
    "fail": "[bold red]fail[/]",
    "failed": "[bold red]failed[/]",
    "unknown": "[yellow]unknown[/]",
    "missing": "[bold red]missing[/]",
    "stale": "[magenta]stale[/]",
    "blocked": "[dim]blocked[/]",
    "not_applicable": "[dim]n/a[/]",
}


def show_runs(console: Console, runs: Iterable[Run]) -> None:
    """Print each finding of the runs, what fails first within a probe."""
    table = Table("probe", "status", "reason", "found, wanted", "owner", box=None, pad_edge=False)
    for run in runs:
        for finding in sorted(run.findings, key=lambda one: (one.status == "pass", str(one.subject))):
            table.add_row(run.id, MARKS[finding.status.value], finding.reason, finding.summary, _owner(run, finding))
    console.print(table)


def show_gate(console: Console, view: Mapping[str, Any]) -> None:
    """Print the gate as ``/gate.json`` gives it."""
    colour = "green" if view["is_open"] else "red"
    console.print(f"[bold {colour}]gate {view['banner']}[/]  ({view['plan']})")
    for pool in view["pools"]:
        console.print(_pool_table(pool, [check["word"] for check in view["checks"]]))
    for problem in view["problems"]:
        console.print(f"- {problem}", markup=False, highlight=False)
    for decision in view["decisions"]:
        console.print(f"by decision {decision['id']}: {decision['scope']}", markup=False, highlight=False)


def runs_as_json(runs: Iterable[Run]) -> list[dict[str, Any]]:
    """Return runs as plain data for ``--json``."""
    import msgspec

    return [msgspec.to_builtins(run) for run in runs]


def _pool_table(pool: Mapping[str, Any], words: Sequence[str]) -> Table:
    table = Table(
        "node",
        *words,
        title=f"{pool['name']}: {'open' if pool['is_open'] else 'closed'}",
        box=None,
        padding=(0, 1, 0, 0),
    )
    for node in pool["nodes"]:
        status = {cell["check"]: cell["status"] for cell in node["cells"]}
        shown = [status.get(word, "missing") for word in words]
        table.add_row(node["name"], *(MARKS.get(one, one.replace("_", " ")) for one in shown))
    return table


def _owner(run: Run, finding: Finding) -> str:
    return registry.owner_of(run.probe, finding.reason).value if finding.reason else ""
