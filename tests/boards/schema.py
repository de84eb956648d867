"""JSON Schema of Grafana's dashboards and panels, made from the types that Grafana itself publishes on npm.

Made once, in the cache outside the tree; where npm is missing or cannot fetch, NotAvailableError says why.
"""

import json
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from jsonschema import Draft7Validator, ValidationError

from deploy.lab import cache

PACKAGES = {"@grafana/schema": "11.6.0", "ts-json-schema-generator": "1.5.1", "typescript": "5.4.5"}
TYPES = "node_modules/@grafana/schema/dist/esm/raw"
PANELS = {
    "stat": "Stat",
    "state-timeline": "StateTimeline",
    "timeseries": "TimeSeries",
    "heatmap": "Heatmap",
    "table": "Table",
}
PATIENCE = ("--fetch-retries=1", "--fetch-retry-maxtimeout=10000", "--fetch-timeout=60000")
LIMIT_SECONDS = 600

# What Grafana reads and writes although its types do not say so, and what the SDK adds to every variable.
KNOWN = (
    "('expr' was unexpected)",
    "('auto', 'auto_count', 'auto_min' were unexpected)",
)

Json = Mapping[str, Any]


class NotAvailableError(Exception):
    """The schemas cannot be made here; the message says why."""


def schemas() -> dict[str, Json]:
    """Return the schema of a dashboard, and of each panel's options and field settings ("stat Options" ...)."""
    target = cache.directory() / "grafana-schema" / cache.digest([*PACKAGES.values(), *PANELS, "1"])
    with cache.lock("grafana-schema"):
        if not target.exists():
            with cache.whole(target) as folder:
                _make(folder)
    return {path.stem: json.loads(path.read_text()) for path in target.glob("*.json")}


def errors(board: Json, known: Mapping[str, Json]) -> Iterator[str]:
    """Return a line for each place of the board that does not fit its schema."""
    for place, value, name in _parts(board):
        for error in Draft7Validator(known[name]).iter_errors(value):
            for one in _innermost(error):
                if not one.message.endswith(KNOWN):
                    yield f"{place}{'/'.join(str(step) for step in one.absolute_path)}: {one.message}"


def _innermost(error: ValidationError) -> Iterator[ValidationError]:
    """What is wrong with each of the alternatives, where a value fits none of them."""
    if not error.context:
        yield error
    for one in error.context or ():
        yield from _innermost(one)


def _parts(board: Json) -> Iterator[tuple[str, Any, str]]:
    yield "", board, "Dashboard"
    for panel in board["panels"]:
        if (name := PANELS.get(panel["type"])) is None:
            continue
        yield f"panel {panel['title']!r} options/", panel["options"], f"{name} Options"
        if name != "Stat":
            custom = panel["fieldConfig"]["defaults"].get("custom", {})
            yield f"panel {panel['title']!r} custom/", custom, f"{name} FieldConfig"


def _make(folder: Path) -> None:
    if shutil.which("npm") is None:
        raise NotAvailableError("npm is not here")
    (folder / "package.json").write_text(json.dumps({"private": True, "dependencies": PACKAGES}))
    print("fetching Grafana's types with npm")
    _run(folder, "npm", "install", "--no-audit", "--no-fund", "--loglevel=error", *PATIENCE)
    wanted = {"Dashboard": ("dashboard/x/dashboard_types", "Dashboard")}
    for name in PANELS.values():
        types = f"composable/{name.lower()}/panelcfg/x/{name}PanelCfg_types"
        wanted[f"{name} Options"] = (types, "Options")
        if name != "Stat":
            wanted[f"{name} FieldConfig"] = (types, "FieldConfig")
    for name, (types, kind) in wanted.items():
        print(f"making the schema of {name}")
        made = _generate(folder, types, kind)
        (folder / f"{name}.made").write_text(made)
    shutil.rmtree(folder / "node_modules")
    for left in folder.glob("package*.json"):
        left.unlink()
    for made_file in folder.glob("*.made"):
        made_file.rename(made_file.with_suffix(".json"))


def _generate(folder: Path, types: str, kind: str) -> str:
    path = f"{TYPES}/{types}.gen.d.ts"
    generator = "node_modules/.bin/ts-json-schema-generator"
    return _run(folder, str(folder / generator), "--path", path, "--type", kind, "--no-type-check")


def _run(folder: Path, *command: str) -> str:
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            check=True,
            capture_output=True,
            text=True,
            timeout=LIMIT_SECONDS,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired as error:
        raise NotAvailableError(f"{Path(command[0]).name} did not end within {LIMIT_SECONDS} s") from error
    except subprocess.CalledProcessError as error:
        said = (error.stderr or error.stdout or "no output").strip().splitlines()[:3]
        raise NotAvailableError(f"{Path(command[0]).name}: exit {error.returncode}: {' '.join(said)}") from error
    return done.stdout
