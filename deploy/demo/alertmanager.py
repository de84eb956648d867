"""An Alertmanager with our routing and inhibition, whose receivers are all webhooks of one address on this machine."""

import asyncio
import subprocess
from pathlib import Path

import yaml

from deploy.demo.prometheus import alertmanager_command


def write_routing(template: Path, receiver: str, destination: Path) -> Path:
    """Write the example with ``receiver`` (host:port) in place of whoever it tells; all else stays as shipped.

    A receiver's name becomes the webhook's path: ``network-page`` is told at ``/network/page``.
    """
    config = yaml.safe_load(template.read_text())
    config["receivers"] = [_webhook(one, receiver) for one in config["receivers"]]
    destination.write_text(yaml.safe_dump(config, sort_keys=False))
    return destination


async def start_alertmanager(program: Path, config: Path, address: str, data: Path) -> asyncio.subprocess.Process:
    """Start Alertmanager on ``address`` (host:port); its log goes to ``data``/alertmanager.log."""
    data.mkdir(parents=True, exist_ok=True)
    command = alertmanager_command(program, *options(config, address, data))
    with (data / "alertmanager.log").open("wb") as log:
        return await asyncio.create_subprocess_exec(
            *command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
        )


def options(config: Path, address: str, data: Path) -> list[str]:
    """The command line of a single Alertmanager that looks for no others."""
    return [
        f"--config.file={config}",
        f"--storage.path={data / 'alertmanager'}",
        f"--web.listen-address={address}",
        "--cluster.listen-address=",
    ]


def _webhook(receiver: dict[str, object], address: str) -> dict[str, object]:
    # Whoever is told nothing has nothing but a name.
    if set(receiver) == {"name"}:
        return receiver
    path = str(receiver["name"]).replace("-", "/", 1)
    return {"name": receiver["name"], "webhook_configs": [{"url": f"http://{address}/{path}"}]}
