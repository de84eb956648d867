"""What Grafana would ask for a panel, asked of a real Prometheus, and what would be wrong with the answer."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dashboards.lint.board import Board, Target
from dashboards.lint.expressions import CLUSTER, NAMED
from tests.boards.played import get

STEP_SECONDS = 120
INTERVALS = {"$__rate_interval": "6m", "$__interval": f"{STEP_SECONDS}s", "$__range": "1d"}
VARIABLE = re.compile(r"\$(\w+)")


@dataclass(frozen=True, slots=True)
class Day:
    """A Prometheus and the time range that it holds, in Unix seconds."""

    url: str
    start: int
    end: int


def substituted(expression: str, chosen: Mapping[str, str]) -> str:
    """Put in what Grafana would for its intervals and these choices."""
    for name, value in INTERVALS.items():
        expression = expression.replace(name, value)
    return VARIABLE.sub(lambda found: chosen[found[1]], expression)


def series_of(day: Day, expression: str) -> Mapping[str, Any]:
    """Return the answer to a range query over the day."""
    return get(day.url, "query_range", query=expression, start=day.start, end=day.end, step=STEP_SECONDS)


def query_mistakes(board: Board, chosen: Mapping[str, str], day: Day, may_be_empty: Mapping[str, str]) -> Iterator[str]:
    """Return a line for each expression of the board that fails, warns, shows nothing, or lacks its legend's labels."""
    for panel in board.panels:
        for target in panel.targets:
            for sentence in _target_mistakes(target, chosen, day, may_be_empty):
                yield f"{board.place}: panel {panel.title!r}: target {target.name}: {sentence}"


def _target_mistakes(
    target: Target, chosen: Mapping[str, str], day: Day, may_be_empty: Mapping[str, str]
) -> Iterator[str]:
    expression = substituted(target.expr, chosen)
    answers = [series_of(day, expression)]
    if target.is_instant:
        answers.append(get(day.url, "query", query=expression, time=day.end))
    for answer in answers:
        if answer["status"] != "success":
            yield f"{answer.get('error')} found, an answer wanted"
            return
        if answer.get("warnings"):
            yield f"warnings {answer['warnings']} found, none wanted"
    found = [one["metric"] for one in answers[0]["data"]["result"]]
    if not found and not any(metric in target.expr for metric in may_be_empty):
        yield "nothing found in the whole day, a series wanted"
    yield from _legend_mistakes(target.legend, found)


def _legend_mistakes(legend: str, found: Sequence[Mapping[str, str]]) -> Iterator[str]:
    for label in sorted(set(NAMED.findall(legend)) - {CLUSTER}):
        if found and not any(label in metric for metric in found):
            yield f"no series with the label {label} of its legend found, one with it wanted"
    names = Counter(_name(legend, metric) for metric in found) if legend else Counter[str]()
    for name, count in sorted(names.items()):
        if count > 1:
            yield f"{count} series named {name!r} found, a name of its own for each wanted"


def _name(legend: str, metric: Mapping[str, str]) -> str:
    return NAMED.sub(lambda label: metric.get(label[1], ""), legend)
