"""The shipped boards have no mistakes, and each kind of mistake is said with board, panel and what was wanted."""

import json
from copy import deepcopy
from pathlib import Path

import pytest

from dashboards.lint import files, mistakes
from dashboards.lint.emitted import AFTER_TESTS, shown
from exporter.metrics import families
from exporter.metrics.family import Family

EMITTED = shown()
WHOLE = {"x": 0, "y": 0, "w": 24, "h": 8}
EXPR = 'max by (cluster, pool) (rdma_gate_pool_open{cluster=~"$cluster", pool=~"$pool"})'
SOURCE = {"type": "prometheus", "uid": "${datasource}"}


def panel(**changed):
    target = {"refId": "A", "expr": EXPR, "legendFormat": "{{pool}}", "datasource": SOURCE, "instant": True}
    target.update(changed.pop("target", {}))
    defaults = {
        "unit": "short",
        "noValue": "no data",
        "thresholds": {"mode": "absolute", "steps": [{"value": None, "color": "purple"}]},
        **changed.pop("defaults", {}),
    }
    return {
        "id": 1,
        "type": "stat",
        "title": "Pools",
        "description": "Whether each pool is open.",
        "gridPos": WHOLE,
        "datasource": SOURCE,
        "targets": [target],
        "fieldConfig": {"defaults": defaults, "overrides": []},
        **changed,
    }


def choice(name, **changed):
    query = f"label_values(rdma_gate_pool_open, {name})"
    return {
        "name": name,
        "type": "query",
        "query": query,
        "refresh": 2,
        "datasource": SOURCE,
        "includeAll": True,
        "multi": True,
        "allValue": ".*",
        **changed,
    }


def board(*panels, variables=(), **changed):
    return {
        "uid": "rdma-gate-example",
        "title": "Example",
        "description": "An example.",
        "tags": ["rdma-gate"],
        "editable": False,
        "links": [{"includeVars": True, "keepTime": True}],
        "templating": {"list": [{"name": "datasource", "type": "datasource"}, *(variables or DEFAULT)]},
        "panels": list(panels) or [panel()],
        **changed,
    }


DEFAULT = (choice("cluster"), choice("pool"))


def found(tmp_path: Path, *boards) -> list[str]:
    """What the linter says of these boards, without the name of the file in front."""
    folder = tmp_path / "dashboards"
    folder.mkdir()
    for place, one in enumerate(boards):
        (folder / f"{place}.json").write_text(json.dumps(one))
    lines = mistakes(sorted(folder.glob("*.json")), EMITTED)
    return [line.removeprefix("dashboards/").removeprefix("0.json: ") for line in lines]


def test_the_shipped_boards_keep_every_rule():
    assert list(mistakes(files(), EMITTED)) == []


def test_a_board_that_keeps_every_rule_is_passed_in_silence(tmp_path):
    assert found(tmp_path, board()) == []


def test_a_metric_that_the_exporter_does_not_emit_is_said_with_board_and_panel(tmp_path):
    wrong = board(panel(target={"expr": EXPR.replace("pool_open", "pool_ready")}))
    assert found(tmp_path, wrong) == [
        "panel 'Pools': rdma_gate_pool_ready found, a metric that the exporter emits wanted"
    ]


def test_what_no_scrape_shows_is_a_family_of_the_program():
    kinds = {one.full_name: one.kind.value for one in vars(families).values() if isinstance(one, Family)}
    assert {metric: kinds[metric] for metric in AFTER_TESTS} == {
        metric: kind for metric, (kind, _) in AFTER_TESTS.items()
    }


@pytest.mark.parametrize(
    ("expr", "sentence"),
    [
        ("", "target A: no expression found"),
        (EXPR.replace('pool=~"$pool"', 'pools=~"$pool"'), "rdma_gate_pool_open: label pools found"),
        (EXPR.replace(', pool=~"$pool"', ""), 'rdma_gate_pool_open without pool=~"$pool" found'),
        (EXPR.replace('cluster=~"$cluster", ', ""), 'rdma_gate_pool_open without cluster=~"$cluster" found'),
        (EXPR.replace("max by (cluster, pool) (", "(", 1), "rdma_gate_pool_open as it was scraped found"),
        (EXPR.replace("by (cluster, pool)", "by (pool)"), "by (pool) found, with cluster wanted"),
        (EXPR.replace("by (cluster, pool)", "without (instance)"), "without found, by or on wanted"),
        (EXPR.replace("by (cluster, pool)", "by (cluster)"), "pool in its legend or columns found, one of cluster"),
        (
            'max by (cluster) (rdma_gate_failures_dropped_total{cluster=~"$cluster"})',
            "rdma_gate_failures_dropped_total: a counter read as it stands found",
        ),
        (
            'max by (cluster) (rate(rdma_gate_failures_dropped_total{cluster=~"$cluster"}[5m]))',
            "a range of 5m found, $__rate_interval or $__range wanted",
        ),
        (
            'max by (cluster) (rate(rdma_gate_series{cluster=~"$cluster"}[$__rate_interval]))',
            "rdma_gate_series: rate of a gauge found",
        ),
        (f"{EXPR} * on (cluster) {EXPR}", "that may differ found, one series for each pair wanted"),
        (f"max by (cluster, pool) ({EXPR} / {EXPR})", "a division inside max by"),
        (f"{EXPR} +", "found"),
    ],
)
def test_an_expression_that_would_mislead_is_said(expr, sentence, tmp_path):
    lines = found(tmp_path, board(panel(target={"expr": expr})))
    assert any(line.startswith("panel 'Pools': ") and sentence in line for line in lines), lines


@pytest.mark.parametrize(
    ("expr", "unit", "sentence"),
    [
        ("rdma_gate_target_ratio", "short", "rdma_gate_target_ratio: unit 'short' found, percentunit wanted"),
        ("rdma_gate_port_rate_bytes_per_second", "short", "unit 'short' found, Bps wanted"),
        ("8 * rdma_gate_port_rate_bytes_per_second", "Bps", "unit 'Bps' found, bps wanted"),
        ("rdma_gate_memory_registered_bytes", "s", "unit 's' found, bytes wanted"),
        ("rdma_gate_probe_duration_seconds", "ms", "unit 'ms' found, one of"),
        ("rdma_gate_write_latency_seconds", "short", "unit 'short' found, s wanted"),
    ],
)
def test_a_unit_that_does_not_fit_the_metric_is_said(expr, unit, sentence, tmp_path):
    lines = found(tmp_path, board(panel(target={"expr": expr}, defaults={"unit": unit})))
    assert any(sentence in line for line in lines), lines


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"title": ""}, "no title found"),
        ({"description": ""}, "no description found"),
        ({"targets": []}, "no target found"),
        ({"datasource": {"uid": "P1809F7CD0C75ACF3"}}, "data source 'P1809F7CD0C75ACF3' found, ${datasource} wanted"),
        ({"target": {"instant": False}}, "target A: a range found, an instant wanted"),
        ({"target": {"datasource": None}}, "data source None found, ${datasource} wanted"),
        ({"defaults": {"noValue": ""}}, "no noValue found"),
        ({"defaults": {"thresholds": {}}}, "green below the first threshold found"),
        ({"defaults": {"thresholds": {"steps": [{"color": "green"}]}}}, "green below the first threshold found"),
        ({"defaults": {"color": {"fixedColor": "#73BF69"}}}, "colour '#73BF69' found"),
        ({"pluginVersion": "11.6.0"}, "pluginVersion found, none wanted"),
        ({"id": None}, "id None found"),
        ({"gridPos": {**WHOLE, "x": 12}}, "columns 12 to 36 found, at most 24 wanted"),
        ({"gridPos": {**WHOLE, "h": 2}}, "height 2 found, at least 3 wanted"),
        ({"gridPos": {**WHOLE, "y": 3}}, "3 free lines above it found"),
        ({"gridPos": {**WHOLE, "w": 0}}, "0 x 8 at 0, 0 found"),
        ({"title": "Pools" * 12, "gridPos": {**WHOLE, "w": 6}}, "a title of 60 characters found, at most 42 wanted"),
        ({"type": "row", "gridPos": {**WHOLE, "w": 12}}, "a heading of 12 columns from 0 found"),
    ],
)
def test_a_panel_that_cannot_be_read_is_said(changed, sentence, tmp_path):
    lines = found(tmp_path, board(panel(**changed)))
    assert any(sentence in line for line in lines), lines


def test_panels_that_overlap_or_share_a_number_are_said(tmp_path):
    other = panel(title="Over it", gridPos={"x": 12, "y": 7, "w": 12, "h": 8})
    assert found(tmp_path, board(panel(), other)) == [
        "panel 'Pools': id 1 found on 2 panels, one of its own wanted: links and alerts point at it",
        "panel 'Over it': id 1 found on 2 panels, one of its own wanted: links and alerts point at it",
        "panel 'Over it': overlaps panel 'Pools' found, room of its own wanted",
    ]


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"refresh": 1}, "variable cluster: refresh 1 found, 2 (on time range change) wanted"),
        ({"datasource": {"uid": "abc"}}, "variable cluster: another data source than ${datasource} found"),
        ({"query": "up"}, "variable cluster: query 'up' found, label_values(series, label) wanted"),
        ({"query": "label_values(rdma_gate_gone, cluster)"}, "variable cluster: rdma_gate_gone found"),
        ({"query": "label_values(rdma_gate_open, pool)"}, "variable cluster: rdma_gate_open: label pool found"),
        ({"allValue": None}, "variable cluster: All without multi or allValue found"),
    ],
)
def test_a_variable_that_does_not_follow_from_the_series_is_said(changed, sentence, tmp_path):
    lines = found(tmp_path, board(variables=[choice("cluster", **changed), choice("pool")]))
    assert any(line.startswith(sentence) for line in lines), lines


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"uid": "u" * 41}, "of its own of at most 40 characters wanted"),
        ({"editable": True}, "editable True found, false wanted"),
        ({"__inputs": [{}]}, "__inputs found, none wanted"),
        ({"links": []}, "no link that keeps variables and time found"),
        ({"templating": {"list": []}}, "data source variables none found, one named datasource wanted"),
        ({"tags": []}, "no tags found"),
    ],
)
def test_a_board_that_cannot_be_imported_anywhere_is_said(changed, sentence, tmp_path):
    lines = found(tmp_path, board(**changed))
    assert any(sentence in line for line in lines), lines


def test_two_boards_of_one_uid_are_said(tmp_path):
    assert found(tmp_path, board(), deepcopy(board())) == [
        "1.json: uid 'rdma-gate-example' found, one of its own of at most 40 characters wanted"
    ]
