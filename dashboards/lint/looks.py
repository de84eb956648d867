"""Numbers read as what they are, and a value that is missing looks like neither health nor zero."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from alerts.lint.promql import selectors
from dashboards.lint.board import Panel, Target

COUNTS = frozenset({"short", "none"})
UNITS = COUNTS | {"s", "bps", "Bps", "bytes", "percentunit", "ops"}
COLOUR = re.compile(
    r"(?:(?:super-light|light|semi-dark|dark)-)?(?:green|red|orange|yellow|blue|purple)|text|transparent"
)
HEALTHY = ("green",)
BIT = re.compile(r"(?<![\w.])8 \*")
COUNTED = re.compile(r"^\s*(?:count|group)\s+by\b")
DIVIDED = re.compile(r"\s/\s")
SHARE = "percentunit"
BY_SUFFIX = {
    "_bytes_per_second": "Bps",
    "_bytes_total": "Bps",
    "_bytes": "bytes",
    "_seconds_total": "short",
    "_seconds": "s",
    "_ratio": SHARE,
}
CAPTION = "a value that is missing would be blank or 0"


def look_mistakes(panel: Panel) -> Iterator[str]:
    """Return a sentence for each thing that cannot be read, or reads as what it is not."""
    defaults = panel.defaults
    if (unit := defaults.get("unit")) not in UNITS:
        yield f"unit {unit!r} found, one of {', '.join(sorted(UNITS))} wanted"
    if not defaults.get("noValue"):
        yield f"no noValue found, a text wanted: {CAPTION}"
    steps = defaults.get("thresholds", {}).get("steps") or [{}]
    if any(word in str(steps[0].get("color", "green")) for word in HEALTHY):
        yield "green below the first threshold found, a colour for unknown wanted: a missing value would look healthy"
    for colour in _colours(panel.raw):
        if not COLOUR.fullmatch(colour):
            yield f"colour {colour!r} found, a name of the theme wanted"
    for target in panel.targets:
        if panel.kind == "stat" and not target.is_instant:
            yield f"target {target.name}: a range found, an instant wanted: what has gone would show its last value"
        yield from _unit_mistakes(panel, target)
    if "pluginVersion" in panel.raw:
        yield "pluginVersion found, none wanted: no Grafana wrote this"


def _unit_mistakes(panel: Panel, target: Target) -> Iterator[str]:
    """The unit must fit one of the metrics: the others of the expression divide, filter or join it."""
    wanted = {metric: unit for one in selectors(target.expr) if (unit := _wanted(metric := one.metric, target.expr))}
    if not wanted or _is_word(panel) or COUNTED.search(target.expr):
        return
    fitting = {SHARE} if DIVIDED.search(target.expr) else set(wanted.values())
    if (unit := _unit(panel)) not in fitting:
        yield f"{', '.join(sorted(wanted))}: unit {unit!r} found, {' or '.join(sorted(fitting))} wanted"


def _wanted(metric: str, expression: str) -> str:
    unit = next((unit for suffix, unit in BY_SUFFIX.items() if metric.endswith(suffix)), "")
    return "bps" if unit == "Bps" and BIT.search(expression) else unit


def _unit(panel: Panel) -> Any:
    """A table's unit is that of its Value column."""
    shown = next((c["options"]["renameByName"].get("Value") for c in panel.raw.get("transformations") or ()), None)
    for override in panel.raw.get("fieldConfig", {}).get("overrides", ()):
        if shown and override["matcher"]["options"] == shown:
            return next((one["value"] for one in override["properties"] if one["id"] == "unit"), None)
    return panel.defaults.get("unit")


def _is_word(panel: Panel) -> bool:
    return any(mapping.get("type") == "value" for mapping in panel.defaults.get("mappings") or ()) or (
        panel.kind == "table" and "Value" not in panel.targets[0].columns
    )


def _colours(value: object) -> Iterator[str]:
    if isinstance(value, Mapping):
        for name, inner in value.items():
            if name in ("color", "fixedColor", "iconColor") and isinstance(inner, str):
                yield inner
            else:
                yield from _colours(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _colours(inner)
