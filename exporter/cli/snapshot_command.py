"""Take or verify a snapshot."""

import getpass
import json
from pathlib import Path
from urllib.parse import urlencode

import click

from exporter.cli import CLOSED, OPEN
from exporter.cli.ask import ask_gate
from exporter.cli.given import CONFIG, JSON, settings_of, usage_error


@click.group("snapshot")
def command() -> None:
    """One point in time with all that the verdict rests on, in canonical JSON that carries its own SHA-256."""


@command.command("take")
@click.option("--output", type=click.Path(path_type=Path), help="A new file [default: standard output].")
@click.option("--operator", default=getpass.getuser, show_default="you", help="Who takes it.")
@click.option("--url", help="The gate's address [default: as the settings say].")
@CONFIG
@click.pass_context
def take(context: click.Context, *, output: Path | None, operator: str, url: str | None) -> int:
    """Take a snapshot of the gate now. Exit code: 0 the gate is open, 1 closed, 2 no answer."""
    data = ask_gate(settings_of(context), url, f"/v1/snapshot?{urlencode({'operator': operator})}")
    if output is None:
        click.echo(data.decode())
    else:
        try:
            with output.open("xb") as file:
                file.write(data)
        except OSError as error:
            raise usage_error(f"{output}: {error.strerror}, a new file wanted") from error
        click.echo(f"{output}: {len(data)} bytes, sha256 {json.loads(data)['sha256']}")
    return OPEN if json.loads(data)["verdict"]["status"] == "open" else CLOSED


@command.command("verify")
@click.argument("file", type=click.Path(path_type=Path))
@JSON
def verify(file: Path, *, as_json: bool) -> int:
    """Verify FILE offline: its SHA-256, and that of each output in it. Exit code: 0 whole, 1 altered."""
    from exporter.gate.snapshot import verify_snapshot

    try:
        problems = verify_snapshot(file.read_bytes())
    except OSError as error:
        raise usage_error(f"{file}: {error.strerror}, a readable file wanted") from error
    if as_json:
        click.echo(json.dumps({"whole": not problems, "problems": problems}, indent=2))
    else:
        click.echo("\n".join(problems) or f"{file}: whole, as it was taken")
    return CLOSED if problems else OPEN
