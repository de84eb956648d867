"""Stop all tests."""

import getpass

import click

from exporter.cli.given import CONFIG, settings_of


@click.command("pause")
@CONFIG
@click.pass_context
def command(context: click.Context) -> None:
    """Stop the tests of this node within a second and let none start, until `rdma-gate resume`.

    Writes the pause file, which any other tool may do as well; it outlives a restart. Passive probes go on.
    """
    settings = settings_of(context)
    assert settings.pause_file is not None
    settings.pause_file.parent.mkdir(parents=True, exist_ok=True)
    settings.pause_file.write_text(f"{getpass.getuser()} by command line\n")
    click.echo(f"tests paused by {settings.pause_file}")
