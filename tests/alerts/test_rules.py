"""promtool's own word on the rules, and their tests: ``<rule file>[_<topic>]_test.yaml``."""

import re
import subprocess
from pathlib import Path

import pytest
import yaml

from alerts.lint import FILES
from alerts.lint.emitted import SCRAPES
from alerts.lint.promql import seconds, selectors
from exporter import registry
from probes._path_counters import LOSSES
from probes.access._port_counters import COUNTERS

HERE = Path(__file__).parent
ALERTS = HERE.parents[1] / "alerts"


def run(*argv: object) -> tuple[int, str]:
    done = subprocess.run(list(map(str, argv)), check=False, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def files_testing(file: Path) -> list[Path]:
    return sorted(HERE.glob(f"{file.stem}*_test.yaml"))


def fired(file: Path) -> dict[str, set[bool]]:
    """By alert, whether a test of that rule file wants it firing and whether one wants it silent."""
    tests = [test for path in files_testing(file) for test in yaml.safe_load(path.read_text())["tests"]]
    cases = [case for test in tests for case in test["alert_rule_test"]]
    wanted: dict[str, set[bool]] = {}
    for case in cases:
        wanted.setdefault(case["alertname"], set()).add(bool(case["exp_alerts"]))
    return wanted


@pytest.mark.parametrize("file", FILES, ids=lambda path: path.stem)
def test_promtool_finds_nothing_wrong_with(file: Path, program):
    code, text = run(program("promtool"), "check", "rules", "--lint=all", "--lint-fatal", file)
    assert (code, "SUCCESS" in text) == (0, True), text


@pytest.mark.parametrize("file", FILES, ids=lambda path: path.stem)
def test_each_alert_fires_and_ends_as_its_test_says(file: Path, program):
    code, text = run(program("promtool"), "test", "rules", *files_testing(file))
    assert code == 0, text


@pytest.mark.parametrize("file", FILES, ids=lambda path: path.stem)
def test_each_alert_is_tested_both_firing_and_silent(file: Path):
    alerts = {
        rule["alert"]
        for group in yaml.safe_load(file.read_text())["groups"]
        for rule in group["rules"]
        if "alert" in rule
    }
    here = {alert: wanted for alert, wanted in fired(file).items() if alert in alerts}
    assert here == {alert: {True, False} for alert in alerts}


def test_the_rules_can_be_had_with_another_label_for_the_cluster(program, tmp_path: Path):
    for file in FILES:
        changed = tmp_path / file.name
        changed.write_text(re.sub(r"\bcluster\b", "site", file.read_text()))
        code, text = run(program("promtool"), "check", "rules", changed)
        assert code == 0, text


def test_the_recorded_scrapes_are_free_of_complaints_but_for_the_label_quantile(program):
    for scrape in sorted(SCRAPES.glob("*.prom")):
        done = subprocess.run(
            [program("promtool"), "check", "metrics"],
            check=False,
            input=scrape.read_text(),
            capture_output=True,
            text=True,
        )
        lines = [line for line in (done.stdout + done.stderr).splitlines() if line.startswith("rdma_gate_")]
        assert [line for line in lines if "quantile" not in line] == []


def seconds_to_notice(alert: str) -> float:
    """Scrape, evaluation, ``for`` and group_wait as shipped, at most."""
    rules = [rule for file in FILES for group in yaml.safe_load(file.read_text())["groups"] for rule in group["rules"]]
    hold = next(rule["for"] for rule in rules if rule.get("alert") == alert)
    shipped = yaml.safe_load((ALERTS.parent / "deploy/prometheus.yml").read_text())["global"]
    wait = yaml.safe_load((ALERTS / "alertmanager.yaml").read_text())["route"]["routes"][0]["group_wait"]
    return sum(map(seconds, (shipped["scrape_interval"], shipped["evaluation_interval"], hold, wait)))


def test_a_common_cause_pages_within_half_a_minute_and_a_single_link_is_a_ticket_within_two():
    assert (seconds_to_notice("RDMAGateCommonCause"), seconds_to_notice("RDMAGateCheckFailed")) == (20, 110)


def test_of_the_retransmissions_those_alert_that_the_judgement_of_paths_trusts():
    rules = yaml.safe_load((ALERTS / "nodes.yaml").read_text())["groups"][0]["rules"]
    expression = next(rule["expr"] for rule in rules if rule.get("alert") == "RDMAGatePortErrors")
    (chosen,) = (one for one in selectors(expression) if one.metric == "rdma_gate_port_retransmissions_total")
    assert {*chosen.matchers[0][2].split("|")} == {*COUNTERS["port_retransmissions_total"]} & LOSSES


def reasons(name: str, *operators: str) -> set[str]:
    """The reasons that the expression of an alert or a record asks for (``=``, ``=~``) or leaves out (``!~``)."""
    rules = [rule for file in FILES for group in yaml.safe_load(file.read_text())["groups"] for rule in group["rules"]]
    expression = next(rule["expr"] for rule in rules if name in (rule.get("alert"), rule.get("record")))
    matchers = [matcher for one in selectors(expression) for matcher in one.matchers]
    chosen = [value for label, operator, value in matchers if label == "reason" and operator in operators]
    return {reason for value in chosen for reason in value.split("|")}


@pytest.mark.parametrize(
    ("alert", "probe"),
    [
        ("RDMAGateTCPFallback", "transfers.collectives"),
        ("RDMAGateHostStaging", "transfers.collectives"),
        ("RDMAGateWrongData", "transfers.collectives"),
        ("RDMAGateGPUDirectLost", "runtime.gpudirect"),
    ],
)
def test_an_alert_asks_for_reasons_that_its_probe_gives_and_no_other_of_its_check(alert: str, probe: str):
    check = probe.partition(".")[0]
    others = [one for one in registry.probes().values() if one.check == check and one.name != probe]
    asked = reasons(alert, "=", "=~")
    assert asked
    assert asked <= registry.probes()[probe].reasons.keys()
    assert [one.name for one in others if asked & one.reasons.keys()] == []


def test_what_an_alert_of_its_own_tells_is_told_by_no_general_one():
    tcp, staged, wrong, lost = (
        reasons(f"RDMAGate{name}", "=", "=~") for name in ("TCPFallback", "HostStaging", "WrongData", "GPUDirectLost")
    )
    assert reasons("RDMAGateCheckFailed", "!~") == staged | wrong
    assert reasons("RDMAGateCheckFailed", "=", "=~") == lost
    assert reasons("check:rdma_gate_check_failed:max", "!~") == tcp | staged | wrong


def test_prometheus_can_use_the_shipped_configuration(program):
    code, text = run(program("promtool"), "check", "config", ALERTS.parent / "deploy/prometheus.yml")
    assert code == 0, text
