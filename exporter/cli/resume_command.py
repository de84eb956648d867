"""Allow tests again."""

import click

from exporter.cli.given import CONFIG, settings_of


@click.command("resume")
@CONFIG
@click.pass_context
def command(context: click.Context) -> None:
    """Remove the pause file of this node, so that tests may run again."""
    settings = settings_of(context)
    assert settings.pause_file is not None
    was_paused = settings.pause_file.exists()
    settings.pause_file.unlink(missing_ok=True)
    click.echo("tests may run again" if was_paused else "tests were not paused")
