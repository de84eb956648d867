"""Run the exporter."""

import asyncio
import logging
import sys
from collections.abc import Sequence
from functools import partial

import click

from exporter.cli.given import CONFIG, config_of, environment_of, read_settings, settings_of, usage_error
from exporter.settings import SettingsError


@click.command("serve")
@CONFIG
@click.option("--dry-run", is_flag=True, help="Say what would be served and sent, and end.")
@click.pass_context
def command(context: click.Context, dry_run: bool) -> None:
    """Run the node role, the gate role, or both, until SIGTERM. SIGHUP reads plan, decisions and members again.

    Without --config both roles serve this machine on 127.0.0.1:9842, with passive probes only: tests need a reviewed
    plan with tests_enabled. /metrics is for Prometheus, /gate for people.
    """
    from exporter.program.serve import serve

    settings = settings_of(context)
    reread = partial(read_settings, context) if config_of(context) else None
    if dry_run:
        from exporter.cli.dry_run import dry_run_lines

        click.echo("\n".join(dry_run_lines(settings)))
        return
    logging.basicConfig(
        level=settings.log_level.upper(), stream=sys.stderr, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    try:
        asyncio.run(serve(settings, environment_of(context), reread))
    except* SettingsError as group:
        raise usage_error(*_lines(group.exceptions)) from None


def _lines(errors: Sequence[BaseException]) -> list[str]:
    return [line for error in errors if isinstance(error, SettingsError) for line in error.lines]
