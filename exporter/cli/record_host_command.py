"""Record this machine for a bug report."""

import json
from pathlib import Path

import click

from exporter.cli.given import JSON, usage_error


@click.command("record-host")
@click.argument("directory", type=click.Path(path_type=Path))
@click.option("--anonymise", is_flag=True, help="Replace serials, GUIDs, MAC and IP addresses, each by the same other.")
@click.option("--root", default="/", help="The machine's root directory.", show_default=True)
@JSON
def command(directory: Path, *, anonymise: bool, root: str, as_json: bool) -> None:
    """Copy into DIRECTORY just the sysfs and proc files that the probes read, so that we can see your machine.

    Nothing else is copied and nothing is sent. With that directory as host_root, rdma-gate sees what your machine sees.
    """
    from probes._host import Tree
    from probes._record import record_host

    try:
        if directory.exists() and any(directory.iterdir()):
            raise usage_error(f"{directory}: not empty, a new or empty directory wanted")
        recorded = record_host(Tree(root), directory, anonymise=anonymise)
    except OSError as error:
        raise usage_error(f"{error.filename or directory}: {error.strerror}, a writable directory wanted") from error
    click.echo(json.dumps(recorded, indent=2) if as_json else f"{len(recorded)} files recorded in {directory}")
