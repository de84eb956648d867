"""What every command is given: the settings, and mistakes of the user as one clear sentence each."""

import os
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from exporter.settings import Environment, Settings, SettingsError
from exporter.settings_file import load_settings


def _remember(context: click.Context, _parameter: click.Parameter, path: Path | None) -> None:
    if path is not None:
        context.obj["config"] = path


CONFIG = click.option(
    "--config",
    type=click.Path(path_type=Path),
    expose_value=False,
    callback=_remember,
    help="How this process runs (rdma-gate.yaml) [default: no file needed].",
)
JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")


def environment_of(context: click.Context) -> Mapping[str, str]:
    """Return the environment variables that the process was started with."""
    variables: Mapping[str, str] = context.obj["environment"]
    return variables


def settings_of(context: click.Context) -> Settings:
    """Return the settings of ``--config``, or the defaults. UsageError with all mistakes of the file."""
    try:
        return read_settings(context)
    except SettingsError as error:
        path = config_of(context)
        raise usage_error(*(f"{path}: {line}" if path else line for line in error.lines)) from error


def read_settings(context: click.Context) -> Settings:
    """Return the settings of ``--config`` as they are now, or the defaults. SettingsError with all mistakes."""
    environment = Environment(environment_of(context), socket.gethostname(), os.geteuid() == 0)
    return load_settings(config_of(context), environment)


def config_of(context: click.Context) -> Path | None:
    """Return the file that ``--config`` names."""
    given: dict[str, Any] = context.obj
    path: Path | None = given["config"]
    return path


def usage_error(*lines: str) -> click.UsageError:
    """Return an error that prints these sentences and ends with exit code 64."""
    return click.UsageError("\n".join(lines))
