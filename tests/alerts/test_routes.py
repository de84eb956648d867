"""Who is told, as amtool reads the example, and what is wrong with it, if anything."""

import itertools
import subprocess

import pytest

from alerts.lint import ALERTS
from probes import Owner

EXAMPLE = ALERTS / "alertmanager.yaml"


def routed(amtool, **labels: str) -> str:
    """The receivers of an alert with these labels."""
    pairs = [f"{name}={value}" for name, value in labels.items()]
    done = subprocess.run(
        [amtool, "config", "routes", "test", f"--config.file={EXAMPLE}", *pairs],
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout.strip()


def test_amtool_finds_nothing_wrong_with_the_example(program):
    done = subprocess.run([program("amtool"), "check-config", EXAMPLE], check=False, capture_output=True, text=True)
    assert (done.returncode, "SUCCESS" in done.stdout) == (0, True), done.stdout + done.stderr


@pytest.mark.parametrize(("owner", "severity"), list(itertools.product(Owner, ("critical", "warning"))))
def test_an_alert_reaches_its_owner_as_page_or_ticket(owner: Owner, severity: str, program):
    kind = "page" if severity == "critical" else "ticket"
    alert = {
        "alertname": "RDMAGateCommonCause",
        "cluster": "c1",
        "pool": "a",
        "owner": owner.value,
        "severity": severity,
    }
    assert routed(program("amtool"), **alert) == f"{owner.value}-{kind}"


def test_a_nodes_alert_is_a_ticket_of_its_owner(program):
    alert = {"alertname": "RDMAGateCheckFailed", "cluster": "c1", "pool": "a", "node": "n1", "severity": "warning"}
    assert routed(program("amtool"), **alert, owner="network") == "network-ticket"


def test_a_groups_alert_is_a_page_or_a_ticket_of_its_owner(program):
    group = {"cluster": "c1", "pool": "a", "check": "transfers"}
    alerts = {
        "TCPFallback": ("network", "critical"),
        "HostStaging": ("gpu", "warning"),
        "WrongData": ("gpu", "critical"),
        "TargetMissed": ("network", "warning"),
    }
    reached = {
        name: routed(program("amtool"), alertname=f"RDMAGate{name}", owner=owner, severity=severity, **group)
        for name, (owner, severity) in alerts.items()
    }
    assert reached == {
        "TCPFallback": "network-page",
        "HostStaging": "gpu-ticket",
        "WrongData": "gpu-page",
        "TargetMissed": "network-ticket",
    }


def test_information_reaches_nobody_and_an_owner_that_is_not_known_reaches_platform(program):
    amtool = program("amtool")
    assert routed(amtool, alertname="RDMAGateFailuresDropped", severity="info", owner="platform") == "nobody"
    assert routed(amtool, alertname="RDMAGateCheckFailed", severity="warning", owner="storage") == "platform-ticket"


def test_alerts_of_others_are_left_alone(program):
    assert routed(program("amtool"), alertname="KubeNodeNotReady", severity="critical", owner="network") == "others"
