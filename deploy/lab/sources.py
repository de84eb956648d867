"""The guests come from the archive that the host's own apt uses: no address stands in our files."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

APT = Path("/etc/apt")


class NoSources(Exception):
    """The host's apt configuration names no Debian archive for its own release."""


def codename(release: Path = Path("/etc/os-release")) -> str:
    """The release this host runs, such as bookworm."""
    for line in release.read_text().splitlines():
        if line.startswith("VERSION_CODENAME="):
            return line.partition("=")[2].strip('"')
    raise NoSources(f"{release}: no VERSION_CODENAME, wanted a Debian release")


def write(directory: Path, suite: str, apt: Path = APT) -> list[Path]:
    """Writes the host's sources of this suite, others left out, in the two formats of apt."""
    found = {
        "lab.sources": "\n\n".join(stanzas(apt, suite)),
        "lab.list": "\n".join(one_line_entries(apt, suite)),
    }
    written = []
    for name, text in found.items():
        if text:
            (directory / name).write_text(text + "\n")
            written.append(directory / name)
    if not written:
        raise NoSources(f"{apt}: no source of {suite} with the component main")
    return written


def stanzas(apt: Path, suite: str) -> Iterator[str]:
    """From *.sources: blocks of fields."""
    for file in sorted(apt.glob("sources.list.d/*.sources")):
        lines = [line for line in file.read_text().splitlines() if not line.startswith("#")]
        for block in "\n".join(lines).split("\n\n"):
            stanza = only_suite(block.strip("\n"), suite)
            if stanza:
                yield stanza


def only_suite(block: str, suite: str) -> str | None:
    """The block reduced to this release, or None when it offers nothing of it."""
    values = {
        name.strip().lower(): value.split()
        for name, colon, value in (line.partition(":") for line in block.splitlines())
        if colon and not name.startswith((" ", "\t"))
    }
    suites = [name for name in values.get("suites", []) if name in accepted(suite)]
    if not suites or "deb" not in values.get("types", []) or "main" not in values["components"]:
        return None
    if values.get("enabled", ["yes"])[0].lower() in ("no", "false"):
        return None
    kept = [line for line in block.splitlines() if not line.lower().startswith(("suites:", "types:"))]
    return "\n".join(["Types: deb", f"Suites: {' '.join(suites)}", *kept])


def one_line_entries(apt: Path, suite: str) -> Iterator[str]:
    """From sources.list and *.list: one line for each source."""
    for file in (apt / "sources.list", *sorted(apt.glob("sources.list.d/*.list"))):
        lines = file.read_text().splitlines() if file.exists() else []
        for line in lines:
            words = line.partition("]")[2].split() if "[" in line else line.split()[1:]
            if line.startswith("deb ") and words[1] in accepted(suite) and "main" in words[2:]:
                yield line


def accepted(suite: str) -> set[str]:
    """A release, its updates and its security fixes; backports and others are left out."""
    return {suite, f"{suite}-updates", f"{suite}-security", f"{suite}/updates"}


def acquire_options() -> str:
    """The host's ways to reach the archive (proxy, dates, retries), for the guest's apt."""
    dump = subprocess.run(["apt-config", "dump", "Acquire"], check=True, capture_output=True, text=True)
    lines = dump.stdout.splitlines()
    return "\n".join(line for line in lines if "IndexTargets" not in line) + "\n"
