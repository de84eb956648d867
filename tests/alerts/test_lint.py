import re
from pathlib import Path

import pytest

from alerts.lint import FILES, mistakes
from alerts.lint.boards import dashboard_urls
from alerts.lint.emitted import program, read_scrapes
from alerts.lint.promql import LabelList, Selector, functions, label_lists, selectors
from alerts.lint.runbooks import FOLDER, HEADINGS, runbook_mistakes

RULE = """\
groups:
  - name: one
    rules:
      - alert: RDMAGateExample
        expr: max by (cluster, node) (rdma_gate_tests_outstanding) > 0
        for: 5m # as long as a test may take
        labels: {severity: warning, owner: platform, check: all}
        annotations:
          summary: A test runs.
          description: "{{ $labels.node }}: {{ $value }} tests found, none wanted"
          runbook_url: https://rdma-gate.example/alerts/runbooks/RDMAGateExample.md
          dashboard_url: https://grafana.example/d/rdma-gate-node?var-node={{ $labels.node }}
"""
EXPR = "max by (cluster, node) (rdma_gate_tests_outstanding) > 0"


def found(tmp_path: Path, text: str) -> list[str]:
    """What the linter says of one file whose alerts have their runbooks."""
    file, runbooks = tmp_path / "one.yaml", tmp_path / "runbooks"
    file.write_text(text)
    runbooks.mkdir()
    for name in set(re.findall(r"alert: (\w+)", text)):
        (runbooks / f"{name}.md").write_text("\n".join((f"# {name}", *HEADINGS)))
    return list(mistakes([file], program(), runbooks))


def test_the_shipped_rules_and_runbooks_keep_to_every_convention():
    assert list(mistakes(FILES, program(), FOLDER)) == []


def test_a_rule_that_keeps_to_them_is_left_alone(tmp_path: Path):
    assert found(tmp_path, RULE) == []


def test_a_metric_that_the_program_does_not_emit_is_named_with_its_place(tmp_path: Path):
    text = RULE.replace("rdma_gate_tests_outstanding", "rdma_gate_tests_running")
    assert found(tmp_path, text) == [
        "one.yaml: RDMAGateExample: rdma_gate_tests_running found, a metric that the program emits wanted"
    ]


def test_a_metric_in_a_description_is_looked_up_as_well(tmp_path: Path):
    query = """{{ with query (printf "rdma_gate_gone{node='%s'}" $labels.node) }}{{ . | first | value }}{{ end }}"""
    text = RULE.replace('"{{ $labels.node }}: {{ $value }} tests', f">-\n            {query} tests").replace(
        'wanted"', "wanted"
    )
    assert found(tmp_path, text) == [
        "one.yaml: RDMAGateExample: rdma_gate_gone found, a metric that the program emits wanted"
    ]


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ('max by (cluster) (rdma_gate_paused{kind="gate"}) > 0', "rdma_gate_paused: label kind found"),
        (
            'max by (cluster, node) (rdma_gate_paused{scope=~"gate"}) > 0',
            "rdma_gate_paused: scope=~'gate' found, = wanted",
        ),
        ("max by (cluster, node) (rdma_gate_test_bytes_total) > 0", "a counter read as it stands found"),
        ("max by (cluster, node) (rate(rdma_gate_tests_outstanding[5m])) > 0", "rate of a gauge found"),
        (
            "sum by (cluster, node) (rate(rdma_gate_test_bytes_total[1m])) > 0",
            "60 s of it found, at least 240 s wanted",
        ),
        ("topk by (cluster, node) (1, rdma_gate_tests_outstanding) > 0", "topk found"),
        ("max by (cluster, node) (rdma_gate_tests_outstanding)", "no comparison found"),
        ("max by (node) (rdma_gate_tests_outstanding) > 0", "by (node) found, with cluster wanted"),
        ("max without (instance) (rdma_gate_tests_outstanding) > 0", "without found, by or on wanted"),
        ("rdma_gate_tests_outstanding > 0", "a series as it was scraped found"),
        (
            "max by (cluster) (rdma_gate_tests_outstanding) > 0",
            "$labels.node found, a label that the expression has wanted",
        ),
    ],
)
def test_an_expression_that_would_mislead_is_said(wrong: str, sentence: str, tmp_path: Path):
    lines = found(tmp_path, RULE.replace(f"expr: {EXPR}", f"expr: '{wrong}'"))
    assert any(sentence in line for line in lines), lines


@pytest.mark.parametrize(
    ("right", "wrong", "sentence"),
    [
        ("severity: warning", "severity: page", "severity 'page' found, one of critical, warning, info wanted"),
        ("severity: warning", "severity: critical", "critical for one node or device found"),
        ("owner: platform", "owner: storage", "owner 'storage' found"),
        (", check: all", "", "no label check found, one wanted"),
        ("check: all", 'check: "{{ $value }}"', "label check: a template found"),
        ("summary: A test runs.", 'summary: "{{ $value }} tests"', "summary: a template or nothing found"),
        ("none wanted", "none needed", "description without wanted found"),
        ("RDMAGateExample.md", "Example.md", "runbook_url"),
        ("rdma-gate-node?", "rdma-gate-gate?", "dashboard_url"),
        ("var-node={{ $labels.node }}", "var-node=n1", "dashboard_url"),
        (" # as long as a test may take", "", "for without a reason found"),
        ("alert: RDMAGateExample", "alert: TestRuns", "name found, RDMAGate and words in CamelCase wanted"),
    ],
)
def test_a_broken_convention_is_said(right: str, wrong: str, sentence: str, tmp_path: Path):
    lines = found(tmp_path, RULE.replace(right, wrong, 1))
    assert any(sentence in line for line in lines), lines


def test_an_alert_points_to_the_board_of_what_it_is_about():
    grafana, pool = "https://grafana.example/d/rdma-gate-", "var-pool={{ $labels.pool }}"
    node = f"node?{pool}&var-node={{{{ $labels.node }}}}"
    assert dashboard_urls(frozenset({"cluster"})) == (f"{grafana}gate", f"{grafana}fabric")
    assert dashboard_urls(frozenset({"pool", "check"})) == (f"{grafana}gate?{pool}", f"{grafana}fabric?{pool}")
    assert dashboard_urls(frozenset({"pool", "node"})) == (f"{grafana}{node}",)
    either = f"{{{{ if $labels.group }}}}fabric?{pool}{{{{ else }}}}{node}{{{{ end }}}}"
    assert dashboard_urls(frozenset({"pool", "node", "group"})) == (f"{grafana}{either}",)


def test_an_expression_that_cannot_be_read_is_said_with_its_place(tmp_path: Path):
    lines = found(tmp_path, RULE.replace(f"expr: {EXPR}", "expr: max by (cluster (rdma_gate_open) > 0"))
    assert "one.yaml: RDMAGateExample: '(' found, a label or ) wanted" in lines


def test_absent_waits_for_two_scrapes_at_least(tmp_path: Path):
    text = RULE.replace(f"expr: {EXPR}", "expr: absent(rdma_gate_open)").replace("for: 5m", "for: 0s")
    assert any("absent with for 0s found, at least two scrapes wanted" in line for line in found(tmp_path, text))


def test_a_record_that_nobody_uses_and_one_that_stands_twice_are_said(tmp_path: Path):
    record = f"      - record: node:rdma_gate_tests_outstanding:max\n        expr: {EXPR.removesuffix(' > 0')}\n"
    lines = found(tmp_path, RULE + record + record)
    assert [line for line in lines if "recorded and not used" in line] == [lines[-1]] * 2
    assert sum("a second one like it found" in line for line in lines) == 2


def test_runbooks_that_are_missing_left_over_or_without_their_headings_are_said(tmp_path: Path):
    (tmp_path / "B.md").write_text("# B\n\n## Meaning\n")
    (tmp_path / "C.md").write_text("\n".join(("# C", *HEADINGS)))
    assert list(runbook_mistakes(["A", "B"], tmp_path)) == [
        f"{tmp_path.name}: no A.md found, one for each alert wanted",
        f"{tmp_path.name}: C.md found, an alert of that name wanted",
        f"{tmp_path.name}/B.md: other headings found, # B and {', '.join(HEADINGS)} wanted",
    ]


def test_every_kind_and_label_is_read_from_the_scrapes(tmp_path: Path):
    scrape = tmp_path / "one.prom"
    scrape.write_text('# TYPE a_total counter\na_total{b="1"} 1\n# TYPE c gauge\nc 1\n')
    emitted = read_scrapes([scrape])
    assert (emitted.kinds["a_total"], emitted.kinds["c"], emitted.has("d")) == ("counter", "gauge", False)
    assert emitted.labels["a_total"] == {"b", "cluster", "job", "instance"}


def test_an_expression_is_read_into_selectors_lists_and_functions():
    text = 'sum by (cluster, b) (increase(a:b_total{c=~"x|y", d!="e"}[1h] offset 4h))'
    text += " > on (cluster) group_left (f) 1e3 * g # not h"
    assert list(selectors(text)) == [
        Selector("a:b_total", (("c", "=~", "x|y"), ("d", "!=", "e")), 3600.0, "increase"),
        Selector("g", (), 0.0, ""),
    ]
    assert label_lists(text) == (
        LabelList("by", ("cluster", "b")),
        LabelList("on", ("cluster",)),
        LabelList("group_left", ("f",)),
    )
    assert functions(text) == {"sum", "increase"}
