"""Joins, groupings and divisions that promtool lets pass, found with the file, the rule and the line."""

from pathlib import Path

import pytest

from alerts.lint import tree_mistakes
from alerts.lint.labels import labels_of
from alerts.lint.parse import parse, refusal
from alerts.lint.rule import read_rules
from alerts.lint.tree import Aggregation, Call, Join, Literal, Series

KNOWN = {
    "port": frozenset({"cluster", "node", "device"}),
    "node": frozenset({"cluster", "node", "pool"}),
    "whole": frozenset({"cluster"}),
}
NODES = "max by (cluster, node) (port)"
RULES = """\
groups:
  - name: one
    rules:
      - record: node:port:max
        expr: max by (cluster, node) (port)

      - alert: RDMAGateExample
        # Why it is so.
        expr: |
          (max by (cluster, node) (port) > 1)
          and on (cluster, rack)
          max by (cluster, node) (node)
        for: 5m
"""


def said(tmp_path: Path, expression: str) -> list[str]:
    """What the tree of one expression is told, each as line and sentence."""
    file = tmp_path / "one.yaml"
    rule_text = f"- record: a:b:c\n        expr: |\n          {expression}\n"
    file.write_text(f"groups:\n  - name: one\n    rules:\n      {rule_text}")
    (rule,) = read_rules(file)
    return list(tree_mistakes(rule, KNOWN))


def test_a_bad_join_is_named_with_file_rule_and_line(tmp_path: Path):
    file = tmp_path / "ports.yaml"
    file.write_text(RULES)
    lines = [rule.mistake(sentence) for rule in read_rules(file) for sentence in tree_mistakes(rule, KNOWN)]
    place = "ports.yaml: RDMAGateExample: line 11: and on (cluster, rack)"
    assert lines == [f"{place}: {side} side with cluster, node found, with rack wanted" for side in ("left", "right")]


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (
            f"{NODES} > max by (cluster) (whole)",
            ">: left side with cluster, node and right side with cluster found, the same labels or on (...) wanted",
        ),
        (
            f"{NODES} > on (cluster) max by (cluster) (whole)",
            "> on (cluster): left side with node that may differ found, one series for each pair wanted",
        ),
        (
            f"{NODES} > on (cluster) group_left () {NODES}",
            "> on (cluster) group_left: right side with node that may differ found, one series for each pair wanted",
        ),
        (
            f"{NODES} * on (cluster) group_right () {NODES}",
            "* on (cluster) group_right: left side with node that may differ found, one series for each pair wanted",
        ),
        (
            f"{NODES} * on (cluster, node) group_left (rack) max by (cluster, node) (node)",
            "* on (cluster, node) group_left: rack of what has cluster, node found, a label of it wanted",
        ),
        (
            f"{NODES} unless on (cluster, pool) max by (cluster, pool) (node)",
            "unless on (cluster, pool): left side with cluster, node found, with pool wanted",
        ),
        ("max by (cluster, rack) (port)", "max by rack of what has cluster, device, node found, a label of it wanted"),
        (f"{NODES} and on (cluster) gone", "and on (cluster): right side with no labels found, with cluster wanted"),
    ],
)
def test_a_join_that_cannot_hold_is_said(wrong: str, sentence: str, tmp_path: Path):
    assert said(tmp_path, wrong) == [f"line 6: {sentence}"]


@pytest.mark.parametrize(
    "right",
    [
        f"{NODES} > 3",
        f"1e-8 * -time() < {NODES}",
        f"{NODES} > max by (cluster, node) (node)",
        f"{NODES} > on (cluster) group_left () max by (cluster) (whole)",
        "port * on (cluster, node) group_left (pool) max by (cluster, node, pool) (node)",
        f"{NODES} unless on (cluster) whole",
        f"{NODES} or absent(whole)",
        f"{NODES} and on (cluster) label_replace(whole, 'rack', '$1', 'cluster', '(.+)')",
        f"max_over_time(({NODES})[1h:5m] offset 5m) == bool 1",
        "sum by (cluster) (port / on (cluster, node) group_left () (max by (cluster, node) (node) > 0))",
        "sum by (cluster) (port / 8)",
        "sum by (cluster) (port / clamp_min(port, 1))",
        "sum by (cluster) (port) / sum by (cluster) (node)",
    ],
)
def test_what_holds_is_left_alone(right: str, tmp_path: Path):
    assert said(tmp_path, right) == []


@pytest.mark.parametrize(
    "divisor",
    ["port", "(port >= 0)", "(port > bool 0)", "(port > -1)", "(port < 5)", "clamp_min(port, 0)", "0", "(port - 1)"],
)
def test_a_division_by_what_may_be_nothing_inside_an_aggregation_is_said(divisor: str, tmp_path: Path):
    assert said(tmp_path, f"sum by (cluster) (port / {divisor})") == [
        "line 6: a division inside sum by what may be 0 found, by what is > 0 wanted: NaN would be the whole's"
    ]


def test_an_expression_is_read_into_a_tree():
    text = 'sum by (c) (rate(a{b=~"x|}"}[5m] offset 1h)) > bool on (c) group_left (d) -2 ^ 3 * e # and so on'
    assert parse(text) == Join(
        ">",
        Aggregation("sum", "by", ("c",), (Call("rate", (Series("a", (("b", "=~", "x|}"),)),)),)),
        Join("*", Call("-", (Join("^", Literal("2"), Literal("3")),)), Series("e")),
        word="on",
        labels=("c",),
        group="group_left",
        brought=("d",),
        is_bool=True,
    )


def test_operators_bind_as_in_prometheus():
    assert parse("a or b and c == d + e * f") == Join(
        "or",
        Series("a"),
        Join("and", Series("b"), Join("==", Series("c"), Join("+", Series("d"), Join("*", Series("e"), Series("f"))))),
    )
    assert parse("a - b - c") == Join("-", Join("-", Series("a"), Series("b")), Series("c"))


@pytest.mark.parametrize("wrong", ["a b", "sum by (a", "rate(a[5m]", "(a", "a ~ b"])
def test_what_is_no_promql_is_refused(wrong: str):
    assert refusal(wrong) != ""


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("count by (cluster) (max by (cluster, node) (port))", {"cluster"}),
        ("count(port) by (cluster)", {"cluster"}),
        ("max without (device) (port)", {"cluster", "node"}),
        ("count(port)", set()),
        ("port > on (cluster) group_left (pool) node", {"cluster", "node", "device", "pool"}),
        ("whole * on (cluster) group_right () node", {"cluster", "node", "pool"}),
        ("port and on (cluster) node", {"cluster", "node", "device"}),
        ("port or node", {"cluster", "node", "device", "pool"}),
        ("port + on (cluster) node", {"cluster"}),
        ('label_replace(whole, "check", "$1", "probe", "(.+)")', {"cluster", "check"}),
        ('absent(port{node="a", device=~"b|c"})', {"node"}),
        ("time() - whole", {"cluster"}),
        ("vector(1)", set()),
    ],
)
def test_the_labels_of_a_result_follow_from_those_of_its_series(text: str, labels: set[str]):
    assert labels_of(parse(text), KNOWN) == labels
