"""A clean measurement is held against the targets: pass, missed, or unknown where nothing was agreed or measured."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from exporter.judge.requirements import Requirement
from probes import Status

Verdict = tuple[Status, str, str]


def hold_against(values: Mapping[str, Any], requirements: Sequence[Requirement], subject: str) -> Verdict:
    """Status, reason and sentence for one set of values; without any requirement it is unknown."""
    if not requirements:
        return Status.UNKNOWN, "no_target", f"{subject}: measured cleanly, an agreed target wanted to judge it by"
    if unmeasured := [one for one in requirements if values.get(one.value) is None]:
        names = ", ".join(one.name for one in unmeasured)
        return Status.UNKNOWN, "not_measured", f"{subject}: {names} not measured here, {unmeasured[0].wanted()} wanted"
    for one in requirements:
        if not one.met_by(Decimal(values[one.value])):
            return Status.FAIL, "missed_target", _missed(one, Decimal(values[one.value]), subject)
    return Status.PASS, "", f"{subject}: {', '.join(_met(one, values) for one in requirements)}"


def _missed(one: Requirement, found: Decimal, subject: str) -> str:
    return f"{subject}: {one.name} {_in_words(one, found)} found, {one.wanted()} wanted"


def _met(one: Requirement, values: Mapping[str, Any]) -> str:
    return f"{one.name} {_in_words(one, Decimal(values[one.value]))}, {one.wanted()} wanted"


def _in_words(one: Requirement, value: Decimal) -> str:
    if one.value.startswith("bus_bandwidth"):
        return f"{value / 1_000_000_000:.2f} GB/s"
    if one.value.endswith("bytes_per_second"):
        return f"{value / 125_000_000:.2f} Gbit/s"
    if one.value.endswith("seconds"):
        return f"{value * 1_000_000:.2f} us"
    return f"{value:,.0f}"
