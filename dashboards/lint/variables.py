"""A board can be imported anywhere: the data source is chosen, and each choice follows from the series there are."""

import re
from collections.abc import Iterator

from alerts.lint.emitted import Emitted
from dashboards.lint.board import Board, Json

ON_TIME_RANGE_CHANGED = 2
LABEL_VALUES = re.compile(r"label_values\((?:(.+),\s*)?(\w+)\)")
METRIC = re.compile(r"rdma_gate_\w+")
CHOSEN = "${datasource}"


def variable_mistakes(board: Board, emitted: Emitted) -> Iterator[str]:
    """Return a sentence for each thing that is wrong with the variables of a board."""
    sources = [one["name"] for one in board.variables if one["type"] == "datasource"]
    if sources != ["datasource"]:
        yield f"data source variables {', '.join(sources) or 'none'} found, one named datasource wanted"
    if not any(one["name"] == "cluster" for one in board.variables):
        yield "no variable cluster found, one wanted"
    for variable in board.variables:
        if variable["type"] == "query":
            for sentence in _query_mistakes(variable, emitted):
                yield f"variable {variable['name']}: {sentence}"


def _query_mistakes(variable: Json, emitted: Emitted) -> Iterator[str]:
    found = LABEL_VALUES.fullmatch(str(variable.get("query", "")))
    if not found or not found[1]:
        yield f"query {variable.get('query')!r} found, label_values(series, label) wanted"
        return
    for metric in METRIC.findall(found[1]):
        if not emitted.has(metric):
            yield f"{metric} found, a metric that the exporter emits wanted"
        elif found[2] not in emitted.labels[metric]:
            yield f"{metric}: label {found[2]} found, one of {', '.join(sorted(emitted.labels[metric]))} wanted"
    if variable.get("refresh") != ON_TIME_RANGE_CHANGED:
        yield f"refresh {variable.get('refresh')} found, {ON_TIME_RANGE_CHANGED} (on time range change) wanted"
    if variable.get("datasource", {}).get("uid") != CHOSEN:
        yield f"another data source than {CHOSEN} found, the chosen one wanted"
    if variable.get("includeAll") and not (variable.get("multi") and variable.get("allValue")):
        yield "All without multi or allValue found, both wanted"
