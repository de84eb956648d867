"""What the lab cannot show for want of GPUs is asked of a Prometheus that holds the recorded scrapes for an hour."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from alerts.lint.emitted import SCRAPES
from dashboards.lint.board import Board, read_board
from dashboards.looks import TRANSPORT_CODES
from tests.boards.queries import Day, query_mistakes, series_of, substituted
from tests.boards.test_queries import ALL, BOARDS, NO_GPUS, days
from tests.fixtures.history.text import History, Series

HOUR_SECONDS = 3600
BEGAN = 1_796_000_000.0
SAMPLE = re.compile(r"(rdma_gate_\w+)\{(.*)\} (\S+)")
# A node of eight HCAs and eight GPUs; the node of rank 0 of the recorded group.
GPU_NODE, RANK_0 = "gpu-001", "node-a"
ONE = {**ALL, "node": GPU_NODE}


def recorded(*names: str) -> tuple[Series, ...]:
    """Every sample of these scrapes that has labels, from the beginning on."""
    found = [(name, *one) for name in names for one in SAMPLE.findall((SCRAPES / f"{name}.prom").read_text())]
    return tuple(
        Series(f'{metric}{{cluster="lab",job="rdma-gate",instance="{name}",{labels}}}', ((0.0, float(value)),))
        for name, metric, labels, value in found
        if not metric.endswith("_timestamp_seconds")
    )


@pytest.fixture(scope="module")
def hour(tmp_path_factory):
    history = History(BEGAN, float(HOUR_SECONDS), recorded("gate", "gpu", "gpu_probes"))
    yield from days(history, HOUR_SECONDS, tmp_path_factory.mktemp("hour"))


def of_gpus(path: Path) -> Board:
    """The board with those targets alone for which the lab's day has no answer."""
    board = read_board(path)
    panels = [
        replace(panel, targets=tuple(one for one in panel.targets if any(part in one.expr for part in NO_GPUS)))
        for panel in board.panels
    ]
    return replace(board, panels=tuple(panel for panel in panels if panel.targets))


@pytest.mark.parametrize(("name", "count", "chosen"), [("fabric", 7, ALL), ("node", 8, ONE)])
def test_every_panel_of_gpus_and_collectives_has_an_answer(name: str, count: int, chosen, hour: Day):
    board = of_gpus(BOARDS[name])
    assert len(board.panels) == count
    # No target is agreed for the times of the recorded collective.
    assert list(query_mistakes(board, chosen, hour, {'metric="latency"': "not planned"})) == []


def values(name: str, title: str, hour: Day, chosen) -> dict[str, set[str]]:
    panel = next(one for one in read_board(BOARDS[name]).panels if one.title == title)
    (target,) = panel.targets
    found = series_of(hour, substituted(target.expr, chosen))["data"]["result"]
    label = {"Transport proven": "id", "Possible way of GPUDirect": "device"}[title]
    return {one["metric"][label]: {value for _, value in one["values"]} for one in found}


def test_a_transport_and_a_way_of_gpudirect_are_shown_by_their_codes(hour: Day):
    assert values("fabric", "Transport proven", hour, {**ALL, "node": RANK_0}) == {
        "all-reduce": {str(TRANSPORT_CODES["rdma_gdr"])}
    }
    ways = values("node", "Possible way of GPUDirect", hour, ONE)
    assert ways == {f"mlx5_{number}": {"0"} for number in range(8)}
