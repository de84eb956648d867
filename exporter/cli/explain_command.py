"""Say why a check stands as it does."""

from urllib.parse import quote

import click
import msgspec

from exporter.cli import CLOSED, OPEN
from exporter.cli.ask import ask_gate
from exporter.cli.given import CONFIG, JSON, settings_of

OPEN_WORDS = frozenset({"pass", "not_applicable", "accepted"})


@click.command("explain")
@click.argument("node")
@click.argument("check")
@click.option("--url", help="The gate's address [default: as the settings say].")
@CONFIG
@JSON
@click.pass_context
def command(context: click.Context, node: str, check: str, *, url: str | None, as_json: bool) -> int:
    """Explain CHECK (visibility, access, ... transfers) of NODE: rule, found and wanted, evidence, what to do next.

    Each item also gives the bare command that repeats the measurement by hand. Exit code: 0 open, 1 closed,
    2 no answer.
    """
    from exporter.gate.explain import Explanation, explanation_text

    body = ask_gate(settings_of(context), url, f"/gate/explain/{quote(node, safe='')}/{quote(check, safe='')}")
    explanation = msgspec.json.decode(body, type=Explanation)
    click.echo(msgspec.json.format(body, indent=2).decode() if as_json else explanation_text(explanation))
    return OPEN if explanation.status in OPEN_WORDS else CLOSED
