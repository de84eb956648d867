"""Debian's own Prometheus and Alertmanager run beside the gate, without installing a service on this machine.

The package is fetched by apt and unpacked into the cache, so no daemon starts and no root is needed. A program that is
already on PATH is used instead.
"""

import asyncio
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import yaml

PACKAGES = {
    "prometheus": "prometheus",
    "promtool": "prometheus",
    "prometheus-alertmanager": "prometheus-alertmanager",
    "amtool": "prometheus-alertmanager",
}
TEMPLATES = Path("/usr/share/prometheus/alertmanager/default.tmpl")


class NotAvailableError(Exception):
    """The program is neither on PATH nor to be had from apt; the message says why."""


def find_program(name: str, cache: Path) -> Path:
    """Return the path of one of PACKAGES' programs; fetch Debian's package into ``cache`` when it is not here."""
    if found := shutil.which(name):
        return Path(found)
    package = PACKAGES[name]
    unpacked = cache / package / "usr" / "bin" / name
    if not unpacked.exists():
        _fetch(package, cache)
    return unpacked


def alertmanager_command(program: Path, *options: str) -> list[str]:
    """Return the command that starts this Alertmanager.

    Debian's looks for its templates in /usr/share alone. Where they are only in the cache, the process sees the
    cache's /usr/share instead of the machine's, in a mount namespace of its own.
    """
    share = program.parents[1] / "share"
    if TEMPLATES.exists() or not (share / TEMPLATES.relative_to("/usr/share")).exists():
        return [str(program), *options]
    inside = 'mount --bind "$0" /usr/share && exec "$@"'
    return ["unshare", "--map-root-user", "--mount", "sh", "-c", inside, str(share), str(program), *options]


def write_config(template: Path, targets: Sequence[str], destination: Path, alertmanager: str = "") -> Path:
    """Write our configuration with the real addresses in it (host:port); without ``alertmanager`` nobody is told."""
    config = yaml.safe_load(template.read_text())
    config["scrape_configs"][0]["static_configs"] = [{"targets": list(targets)}]
    config["rule_files"] = [str((template.parent / file).resolve()) for file in config["rule_files"]]
    del config["alerting"]
    if alertmanager:
        config["alerting"] = {"alertmanagers": [{"static_configs": [{"targets": [alertmanager]}]}]}
    destination.write_text(yaml.safe_dump(config))
    return destination


async def start_prometheus(program: Path, config: Path, address: str, data: Path) -> asyncio.subprocess.Process:
    """Start Prometheus on ``address`` (host:port); its log goes to ``data``/prometheus.log."""
    data.mkdir(parents=True, exist_ok=True)
    with (data / "prometheus.log").open("wb") as log:
        return await asyncio.create_subprocess_exec(
            str(program),
            f"--config.file={config}",
            f"--web.listen-address={address}",
            f"--storage.tsdb.path={data / 'tsdb'}",
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


def _fetch(package: str, cache: Path) -> None:
    cache.mkdir(parents=True, exist_ok=True)
    download = Path(tempfile.mkdtemp(prefix=f"{package}.", dir=cache))
    try:
        _download(package, download)
        (archive,) = download.glob("*.deb")
        subprocess.run(["dpkg", "-x", archive, cache / package], check=True, capture_output=True)
    except (OSError, ValueError, subprocess.CalledProcessError) as error:
        raise NotAvailableError(f"{package}: not on PATH and not to be had from apt ({error})") from error
    finally:
        shutil.rmtree(download, ignore_errors=True)


def _download(package: str, folder: Path) -> None:
    command = ["apt-get", "download", "-qq", package]
    if subprocess.run(command, cwd=folder, check=False, capture_output=True).returncode != 0:
        # On a new machine apt has no lists yet; without root this fails, and the second try says why.
        subprocess.run(["apt-get", "update", "-qq"], check=False, capture_output=True)
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
