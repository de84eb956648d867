"""The example NodeReadinessRule waits for the condition that the gate writes, and changes nothing by itself."""

from pathlib import Path

import yaml

from exporter.outward.due import TYPE
from exporter.outward.standing import standings
from tests.exporter.outward.conftest import node_verdict, verdict

RULE = Path(__file__).parents[3] / "deploy" / "examples" / "node-readiness-rule.yaml"


def test_the_rule_asks_for_the_condition_and_the_status_of_an_open_node():
    rule = yaml.safe_load(RULE.read_text())
    status = standings(verdict(node_verdict("a")))["a"].status
    assert rule["apiVersion"] == "readiness.node.x-k8s.io/v1alpha1"
    assert rule["spec"]["conditions"] == [{"type": TYPE, "requiredStatus": status}]
    assert rule["spec"]["taint"]["key"].startswith("readiness.k8s.io/")


def test_the_rule_only_reports_until_somebody_decides():
    assert yaml.safe_load(RULE.read_text())["spec"]["dryRun"] is True
