"""Agreed limits as a person writes them: a metric, one limit with its unit, and the source that says who agreed."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from exporter.document import Mistake, Place, one_of, unknown_key
from exporter.plan.values import read_quantity
from probes import Unit
from probes._targets import Target

KEYS = ("metric", "quantile", "at_least", "at_most", "source")


@dataclass(frozen=True, slots=True)
class TargetMetric:
    """What can be agreed about a metric: its unit, which side limits it, and whether quantiles of it are measured."""

    unit: Unit
    limit: str
    quantiles: tuple[float, ...] = ()


METRICS: Mapping[str, TargetMetric] = MappingProxyType(
    {
        "bandwidth": TargetMetric(Unit.BYTES_PER_SECOND, "at_least"),
        "bus_bandwidth": TargetMetric(Unit.BYTES_PER_SECOND, "at_least"),
        "latency": TargetMetric(Unit.SECONDS, "at_most", (0.5, 0.95, 0.99)),
        "round_trip": TargetMetric(Unit.SECONDS, "at_most"),
    }
)


def read_targets(given: object, place: Place) -> tuple[tuple[Target, ...], list[Mistake]]:
    """Return the targets in base units, and every mistake in them."""
    if not isinstance(given, list):
        return (), [Mistake(place, f"{given!r} found, a list of targets wanted")]
    targets: list[Target] = []
    mistakes: list[Mistake] = []
    for index, one in enumerate(given):
        target, wrong = _read_target(one, (*place, index))
        mistakes += wrong
        if target and any((target.metric, target.quantile) == (t.metric, t.quantile) for t in targets):
            mistakes.append(Mistake((*place, index), f"a second target for {target.metric} found, one wanted"))
        targets += [target] if target else []
    return tuple(targets), mistakes


def _read_target(given: object, place: Place) -> tuple[Target | None, list[Mistake]]:
    if not isinstance(given, dict):
        return None, [Mistake(place, f"{given!r} found, a target with metric, limit and source wanted")]
    name = given.get("metric")
    mistakes = [Mistake((*place, key), unknown_key(key, KEYS)) for key in given if key not in KEYS]
    source = given.get("source")
    if not isinstance(source, str) or not any(letter.isalnum() for letter in source):
        mistakes.append(Mistake((*place, "source"), f"{source!r} found, who agreed this limit and where wanted"))
    if not isinstance(name, str) or name not in METRICS:
        return None, [*mistakes, Mistake((*place, "metric"), f"{name!r} found, {one_of(str(name), METRICS)}")]
    limit, wrong = _read_limit(name, given, place)
    mistakes += [*wrong, *_quantile_mistakes(METRICS[name], given.get("quantile"), place)]
    if mistakes:
        return None, mistakes
    sides = {METRICS[name].limit: limit}
    return Target(name, str(source).strip(), **sides, quantile=float(given.get("quantile", 0.0))), []


def _read_limit(name: str, given: dict[str, Any], place: Place) -> tuple[float, list[Mistake]]:
    metric = METRICS[name]
    other = "at_most" if metric.limit == "at_least" else "at_least"
    if other in given or metric.limit not in given:
        return 0.0, [Mistake(place, f"{name} without {metric.limit}, or with {other}, found; {metric.limit} wanted")]
    try:
        limit = float(read_quantity(metric.unit, given[metric.limit]))
    except ValueError as error:
        return 0.0, [Mistake((*place, metric.limit), str(error))]
    if limit <= 0:
        return 0.0, [Mistake((*place, metric.limit), f"{given[metric.limit]} found, more than nothing wanted")]
    return limit, []


def _quantile_mistakes(metric: TargetMetric, found: object, place: Place) -> list[Mistake]:
    wanted = ", ".join(f"{one:g}" for one in metric.quantiles)
    if metric.quantiles and found not in metric.quantiles:
        return [Mistake((*place, "quantile"), f"{found!r} found, one of {wanted} wanted")]
    if not metric.quantiles and found is not None:
        return [Mistake((*place, "quantile"), f"{found!r} found, none wanted: this metric is one number a run")]
    return []
