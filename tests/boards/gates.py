"""Histories of what was not recorded: a second gate, a gate that goes away, and one that is stuck."""

import re
from dataclasses import replace

from tests.fixtures.history.text import History, Series

INSTANCE = re.compile(r'instance="([^"]+)"')


def with_second_gate(history: History) -> History:
    """Return the history with each series of the gate's process twice, the second under another instance."""
    mine = _gate(history)
    second = [
        replace(one, key=one.key.replace(mine, 'instance="second-gate:9842"'))
        for one in history.series
        if mine in one.key
    ]
    return replace(history, series=(*history.series, *second))


def without_gate_from(history: History, offset: float) -> History:
    """Return the history with the gate's process gone from this offset on, to the end of each turn."""
    mine = _gate(history)
    return replace(history, series=tuple(_cut(one, offset) if mine in one.key else one for one in history.series))


def deciding_until(history: History, offset: float) -> History:
    """Return the history with a gate that answers, but has not decided since this offset of each turn."""
    decided = "rdma_gate_decided_timestamp_seconds"
    return replace(
        history,
        series=tuple(
            replace(one, changes=tuple(change for change in one.changes if change[0] < offset))
            if one.metric == decided
            else one
            for one in history.series
        ),
    )


def _gate(history: History) -> str:
    (gate,) = {INSTANCE.search(one.key)[0] for one in history.series if one.metric == "rdma_gate_open"}
    return gate


def _cut(series: Series, offset: float) -> Series:
    kept = [change for change in series.changes if change[0] < offset]
    return replace(series, changes=(*kept, (offset, None)))
