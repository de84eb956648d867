"""Make keys."""

import secrets
from pathlib import Path

import click

from exporter.cli.given import usage_error


@click.command("key")
@click.argument("master", type=click.Path(path_type=Path))
@click.argument("node", required=False)
def command(master: Path, node: str | None) -> None:
    """Make the file MASTER with a new master key, or print the key of NODE that follows from it.

    The gate is given the master (key_file), each node only its own key (node_key_file), so that no node can drive
    another.
    """
    from exporter.keys import node_key

    if node is None:
        if not master.suffix:
            raise usage_error(f"{master}: a file name with an ending wanted for a new master key, as in master.key")
        try:
            with master.open("x") as file:
                master.chmod(0o600)
                file.write(secrets.token_hex(32) + "\n")
        except FileExistsError:
            raise usage_error(f"{master}: already there, a new file wanted") from None
        return
    try:
        click.echo(node_key(master.read_text().strip().encode(), node).hex())
    except (OSError, ValueError) as error:
        raise usage_error(f"{master}: {error}") from error
