"""The command line. Each command is a module of its own, imported only when it is called, so `serve` starts fast."""

import importlib
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from exporter import __version__

OPEN, CLOSED, NO_ANSWER, USAGE = 0, 1, 2, 64

_COMMANDS = {
    "serve": "run the exporter: node role, gate role, or both",
    "check": "look at this machine now, test one pair, or ask the gate",
    "judge": "judge saved output of a tool",
    "explain": "say why a check of a node stands as it does, and what to do",
    "list": "list the checks and probes, or print one probe's manual",
    "plan": "check a plan, or propose one from what is here",
    "snapshot": "take or verify one point-in-time snapshot of the gate",
    "pause": "stop all tests within a second",
    "resume": "allow tests again",
    "key": "make a master key, or the key of one node",
    "record-host": "record this machine's files for a bug report",
}


class NoAnswerError(click.ClickException):
    """The gate or a node gave no answer that can be used: exit code 2."""


class _Commands(click.Group):
    def list_commands(self, _context: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, _context: click.Context, name: str) -> click.Command | None:
        if name not in _COMMANDS:
            return None
        module = importlib.import_module(f"exporter.cli.{name.replace('-', '_')}_command")
        command: click.Command = module.command
        return command

    def format_commands(self, _context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="rdma-gate")
@click.option("--config", type=click.Path(path_type=Path), help="How this process runs [default: no file needed].")
@click.pass_context
def _root(context: click.Context, config: Path | None) -> None:
    """Prove that this cluster's RDMA is ready, and keep proving it.

    Start with `rdma-gate check --passive`: ten seconds, no traffic, nothing changed.
    Exit codes: 0 open (or pass), 1 closed (or fail), 2 no answer, 64 wrong usage.
    """
    context.obj["config"] = config


def app(arguments: Sequence[str], environment: Mapping[str, str]) -> None:
    """Run one command and leave the process with its exit code."""
    context: dict[str, Any] = {"environment": environment, "config": None}
    try:
        code = _root.main(list(arguments), prog_name="rdma-gate", standalone_mode=False, obj=context)
    except click.ClickException as error:
        error.show()
        code = NO_ANSWER if isinstance(error, NoAnswerError) else USAGE
    except click.Abort:
        code = 130
    sys.exit(code if isinstance(code, int) else OPEN)
