"""Each expression of each panel is asked of a real Prometheus that holds a day of the lab, with faults in it."""

from dataclasses import replace
from pathlib import Path

import pytest

from alerts.lint.emitted import IN_CLUSTER
from dashboards.lint import files
from dashboards.lint.board import read_board
from dashboards.lint.variables import LABEL_VALUES
from dashboards.queries import NO_DATA_CODE
from deploy.demo.prometheus import NotAvailableError
from tests.boards.gates import deciding_until, with_second_gate, without_gate_from
from tests.boards.played import RECORDED, blocks, get, prometheus
from tests.boards.queries import Day, query_mistakes, series_of, substituted
from tests.fixtures.history import play
from tests.fixtures.history.text import read_history

# The lab has no GPUs: its collectives and their targets, and what the probes of GPUs show.
NO_GPUS = (
    "rdma_gate_collective_",
    "rdma_gate_gpu_",
    "rdma_gate_gpudirect_mode",
    "rdma_gate_pcie_lanes",
    "rdma_gate_acs_redirecting_ports",
    "rdma_gate_placement_distance",
    'probe="transfers.gpu_write_bandwidth"',
    'group!=""',
)
# What did not happen while the history was recorded, by a part of the expression.
NOT_RECORDED = {
    "rdma_gate_tests_deferred_total": "no test was deferred",
    "rdma_gate_snapshot_timestamp_seconds": "nobody took one",
    **dict.fromkeys(IN_CLUSTER, "no cluster was recorded"),
    **dict.fromkeys(NO_GPUS, "the lab has no GPUs"),
    "rdma_gate_port_congestion_notifications_total": "soft-RoCE counts none",
}
ALL = {"datasource": "", "cluster": ".*", "pool": ".*", "node": ".*", "rail": ".*"}
ONE = {**ALL, "pool": "lab", "node": "node-b", "rail": "0"}
FEW_HOURS_SECONDS = 3 * 3600
BOARDS = {path.stem: path for path in files()}


@pytest.fixture(scope="module")
def history():
    return read_history(RECORDED)


def days(history, seconds, folder: Path):
    end = play.day_end(history)
    try:
        with prometheus(blocks(history, seconds), folder) as url:
            yield Day(url, end - seconds, end)
    except NotAvailableError as error:
        pytest.skip(f"not run: {error}")


@pytest.fixture(scope="module")
def day(history, tmp_path_factory):
    yield from days(history, play.DAY_SECONDS, tmp_path_factory.mktemp("day"))


@pytest.fixture(scope="module")
def few_hours(history, tmp_path_factory):
    yield from days(history, FEW_HOURS_SECONDS, tmp_path_factory.mktemp("few-hours"))


@pytest.fixture(scope="module")
def two_gates(history, tmp_path_factory):
    yield from days(with_second_gate(history), FEW_HOURS_SECONDS, tmp_path_factory.mktemp("two-gates"))


@pytest.fixture(scope="module")
def lost(history, tmp_path_factory):
    """A day, and a moment of it at which the gate has been gone for a while."""
    gone = history.seconds / 2
    for day in days(without_gate_from(history, gone), FEW_HOURS_SECONDS, tmp_path_factory.mktemp("lost")):
        yield day, int(day.start + gone + 300)


@pytest.mark.parametrize("name", BOARDS)
@pytest.mark.parametrize("chosen", [ALL, ONE], ids=["all", "one"])
def test_every_panel_has_an_answer(name, chosen, day):
    choices = {**chosen, "node": ONE["node"]} if name == "node" else chosen
    assert list(query_mistakes(read_board(BOARDS[name]), choices, day, NOT_RECORDED)) == []


def test_what_was_not_recorded_is_not_in_the_history(history):
    assert {one.metric for one in history.series if one.metric.startswith(tuple(NOT_RECORDED))} == set()


@pytest.mark.parametrize("name", BOARDS)
def test_every_variable_offers_something_and_the_closed_pool_is_marked(name, day):
    board = read_board(BOARDS[name])
    offered = {}
    for variable in board.variables:
        if variable["type"] == "query":
            selector, label = LABEL_VALUES.fullmatch(variable["query"]).groups()
            match = substituted(selector, ALL)
            answer = get(day.url, f"label/{label}/values", **{"match[]": match, "start": day.start, "end": day.end})
            offered[variable["name"]] = answer["data"]
    wanted = {"cluster": [], "pool": ["lab"], "node": ["gate", "node-a", "node-b", "node-c"], "rail": ["0"]}
    assert offered == {variable: wanted[variable] for variable in offered}
    (marked,) = board.raw["annotations"]["list"]
    assert series_of(day, substituted(marked["expr"], ALL))["data"]["result"]


@pytest.mark.parametrize(
    ("expr", "legend", "sentence"),
    [
        ("max by (cluster) (rdma_gate_open", "", "parse error"),
        ("max by (cluster) (rdma_gate_opened)", "", "nothing found in the whole day"),
        ("max by (cluster) (rdma_gate_open)", "{{pool}}", "no series with the label pool of its legend"),
        ("max by (cluster, node) (rdma_gate_node_open)", "{{cluster}}", "3 series named ''"),
        ("rdma_gate_node_open * on (pool) rdma_gate_node_expected", "", "many-to-many matching not allowed"),
    ],
)
def test_an_expression_that_would_leave_a_panel_wrong_is_found(expr, legend, sentence, day):
    board = read_board(BOARDS["gate"])
    panel = board.panels[1]
    wrong = replace(panel.targets[0], expr=expr, legend=legend, is_instant=False)
    planted = replace(board, panels=(replace(panel, targets=(wrong,)),))
    (line,) = query_mistakes(planted, ALL, day, NOT_RECORDED)
    assert line.startswith("dashboards/gate.json: panel 'Gate': target A: ")
    assert sentence in line


@pytest.mark.parametrize("name", ["gate", "node", "fabric"])
def test_a_second_gate_that_says_the_same_changes_nothing_on_a_board(name, few_hours, two_gates):
    for panel in read_board(BOARDS[name]).panels:
        for target in panel.targets:
            if "rdma_gate_leader" not in target.expr:
                expression = substituted(target.expr, ONE)
                alone, both = (series_of(day, expression) for day in (few_hours, two_gates))
                assert both == alone, f"{panel.title}: target {target.name}"


def test_two_gates_that_lead_are_shown_as_two(two_gates):
    panel = next(one for one in read_board(BOARDS["gate"]).panels if one.title == "Gates that lead")
    found = series_of(two_gates, substituted(panel.targets[0].expr, ALL))["data"]["result"]
    assert "2" in {value for one in found for _, value in one["values"]}


def asked(board: str, title: str, day: Day, at: int):
    """What a panel that asks for one moment shows: labels and value of each series."""
    panel = next(one for one in read_board(BOARDS[board]).panels if one.title == title)
    (target,) = panel.targets
    found = get(day.url, "query", query=substituted(target.expr, ONE), time=at)["data"]["result"]
    return [(one["metric"], one["value"][1]) for one in found]


def test_without_a_gate_the_first_thing_on_the_screen_is_that_nothing_is_known(lost):
    day, at = lost
    assert asked("gate", "Gate", day, at) == [({}, str(NO_DATA_CODE))]
    assert asked("gate", "Pools", day, at) == [({"pool": "lab"}, str(NO_DATA_CODE))]
    no_gate = {"status": "unknown", "reason": "no gate decides"}
    assert asked("gate", "What is closed, and why", day, at) == [({"pool": "lab", **no_gate}, "1"), (no_gate, "1")]
    assert asked("gate", "Last verdict", day, at) == []
    assert asked("node", "Node", day, at) == []


def test_without_a_gate_the_checks_read_no_data_from_then_on(lost):
    day, at = lost
    for board, title in (("gate", "The seven checks by pool"), ("node", "The seven checks")):
        values = {value for _, value in asked(board, title, day, at)}
        assert values == {str(NO_DATA_CODE)}, title


def test_a_gate_that_answers_but_does_not_decide_opens_nothing(history, tmp_path):
    gone = history.seconds / 2
    for day in days(deciding_until(history, gone), FEW_HOURS_SECONDS, tmp_path):
        at = int(day.start + gone + 300)
        assert asked("gate", "Gate", day, at) == [({}, str(NO_DATA_CODE))]
        assert asked("gate", "Pools", day, at) == [({"pool": "lab"}, str(NO_DATA_CODE))]
        assert asked("node", "Node", day, at) == []
        ((_, age),) = asked("gate", "Last verdict", day, at)
        assert float(age) > 60
