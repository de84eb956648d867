"""List checks and probes, or print one manual."""

import json

import click

from exporter import registry
from exporter.cli.given import JSON, usage_error
from exporter.registry import ProbeModule


@click.command("list")
@click.argument("probe", required=False)
@JSON
def command(probe: str | None, as_json: bool) -> None:
    """List the seven checks with their probes, or print the manual of one PROBE with its reasons and owners."""
    if probe is not None:
        module = _module(probe)
        click.echo(json.dumps(_probe_as_json(module), indent=2) if as_json else _manual(module))
    elif as_json:
        click.echo(json.dumps([_as_json(word) for word in registry.checks()], indent=2))
    else:
        _print_table()


def _module(name: str) -> ProbeModule:
    module = registry.probes().get(name)
    if module is None:
        raise usage_error(f"{name}: no such probe, one of {', '.join(registry.probes())} wanted")
    return module


def _probe_as_json(module: ProbeModule) -> dict[str, object]:
    return {
        "probe": module.name,
        "check": module.check,
        "manual": module.manual,
        "reasons": {code: {"meaning": one.meaning, "owner": one.owner} for code, one in module.reasons.items()},
        "metrics": {f"rdma_gate_{name}": {"kind": one.kind, "help": one.help} for name, one in module.metrics.items()},
    }


def _manual(module: ProbeModule) -> str:
    width = max(map(len, module.reasons), default=0)
    reasons = [f"  {code:{width}}  {one.meaning} ({one.owner})" for code, one in sorted(module.reasons.items())]
    metrics = [f"  rdma_gate_{metric}  {one.help}" for metric, one in module.metrics.items()]
    return "\n".join([module.name, "", module.manual, "", "Reasons:", *reasons, "", "Metrics:", *metrics])


def _as_json(word: str) -> dict[str, object]:
    check = registry.checks()[word]
    probes = [one.name for one in registry.probes().values() if one.check == word]
    return {
        "check": word,
        "number": check.number,
        "title": check.title,
        "required": list(check.required),
        "probes": probes,
    }


def _print_table() -> None:
    from rich.console import Console
    from rich.table import Column, Table

    # a name that is cut cannot be typed
    table = Table("", Column("check", no_wrap=True), Column("probe", no_wrap=True), "what must hold")
    for word, check in registry.checks().items():
        here = {one.name: one.manual.partition("\n")[0] for one in registry.probes().values() if one.check == word}
        absent = dict.fromkeys(check.required, "(required; not in this version, so a decision is needed)")
        for name, line in {**absent, **here}.items():
            table.add_row(str(check.number), word, name, line)
        table.add_section()
    Console().print(table)
