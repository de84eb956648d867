"""Where this machine gets packages from, as files for the build alone: pip's index and certificates, apt's proxy.

A base that is pulled or made here knows the public sources. What else this machine is set to is handed over by
secrets, so that no index, proxy or password gets into the image or its history.
"""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

PIP_KEYS = frozenset({"cert", "default-timeout", "extra-index-url", "index-url", "proxy", "trusted-host"})
CERTIFICATES = "/run/secrets/ca"
APT_PREFIXES = ("Acquire::http::Proxy", "Acquire::https::Proxy", "Acquire::Check-")


def secrets_of_this_machine(folder: Path) -> dict[str, Path]:
    """Write the files below the folder and return them by the names that the Dockerfile uses."""
    listed = _said_by(sys.executable, "-m", "pip", "config", "list")
    files = {
        "pip": "\n".join(["[global]", *pip_settings(listed), ""]),
        "apt": apt_settings(_said_by("apt-config", "dump")),
    }
    secrets = {}
    for name, text in files.items():
        secrets[name] = folder / name
        secrets[name].touch(mode=0o600)
        secrets[name].write_text(text)
    if certificates := certificates_of(listed):
        secrets["ca"] = certificates
    return secrets


def pip_settings(listed: str) -> Iterator[str]:
    """Yield the lines of a pip.conf, out of what ``pip config list`` says; the environment comes last and wins."""
    found = dict(_pip_rows(listed))
    for key, value in found.items():
        yield f"{key} = {CERTIFICATES if key == 'cert' else value}"


def certificates_of(listed: str) -> Path | None:
    """Return the file of certificates that pip is told to trust here, if any."""
    named = dict(_pip_rows(listed)).get("cert", "")
    return Path(named) if named and Path(named).is_file() else None


def apt_settings(dumped: str) -> str:
    """Return the lines of ``apt-config dump`` that say how packages are fetched."""
    return "".join(f"{line}\n" for line in dumped.splitlines() if line.startswith(APT_PREFIXES) and '""' not in line)


def _pip_rows(listed: str) -> Iterator[tuple[str, str]]:
    rows = [line.partition("=") for line in listed.splitlines()]
    for name, _, value in sorted(rows, key=lambda row: row[0].startswith(":env:")):
        key = name.rpartition(".")[2]
        if key in PIP_KEYS:
            yield key, value.strip("'")


def _said_by(*argv: str) -> str:
    try:
        return subprocess.run(argv, check=True, capture_output=True, text=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return ""
