"""An explanation says the rule, what was found and wanted, how to repeat it, and who acts."""

import pytest

from exporter.gate.explain import Explained, explain, explanation_text, rule_of
from probes import Evidence, Subject

MANUAL = """Each planned HCA is there,
with an active port.

Reads /sys.

Passes when every port is ACTIVE.

Settings:
  hcas   the planned HCAs"""
EVIDENCE = Evidence("sysfs", "state: 1: DOWN\nrate: 10", ("cat", "/sys/x"), 0, "ab" * 32, 24)


@pytest.fixture
def broken(world, make):
    down = make.finding(Subject(node="b", device="mlx5_0", port="1"), "fail", "port_down", evidence=(EVIDENCE,))
    world.host("access.ports", "b", down)
    return world


def test_the_rule_is_the_first_paragraph_and_when_it_passes():
    assert rule_of(MANUAL) == "Each planned HCA is there, with an active port. Passes when every port is ACTIVE."
    assert rule_of("") == ""


def test_what_closes_a_check_comes_first_and_is_explained(broken):
    explanation = explain(broken.verdict(), "b", "access", manual_of=lambda _probe: MANUAL)
    assert (explanation.title, explanation.status) == ("Interfaces and device access", "failed")
    assert explanation.items[0] == Explained(
        probe="access.ports",
        target="b",
        status="failed",
        rule="Each planned HCA is there, with an active port. Passes when every port is ACTIVE.",
        found="port_down",
        wanted="none",
        reason="port_down",
        meaning="no link: cable, transceiver, switch port, or disabled",
        owner="network",
        received=broken.now - 10,
        command="cat /sys/x",
        next_step="ask networking engineering: no link: cable, transceiver, switch port, or disabled",
        evidence=(EVIDENCE,),
    )
    assert [item.status for item in explanation.items[1:]] == ["pass", "pass"]


def test_a_command_that_the_probe_names_is_the_one_to_repeat(world, make):
    down = make.finding(Subject(node="b"), "unknown", "x", evidence=(EVIDENCE,), facts={"command": "ib_write_bw -d x"})
    world.host("access.ports", "b", down)
    item = explain(world.verdict(), "b", "access").items[0]
    assert item.command == "ib_write_bw -d x"
    assert item.next_step.endswith("find out first why it could not tell, since that is no pass")


@pytest.mark.parametrize(
    ("check", "step"),
    [("connectivity", "mend the check that it waits for; it then runs by itself")],
)
def test_what_waits_says_what_for(broken, check, step):
    item = explain(broken.verdict(), "b", check).items[0]
    assert (item.status, item.next_step) == ("blocked", step)
    assert item.found == "connectivity.ping_pong: waits, b access failed"


def test_it_is_printed_as_plain_lines(broken):
    text = explanation_text(explain(broken.verdict(), "b", "access", manual_of=lambda _probe: MANUAL))
    assert text.splitlines()[:13] == [
        "b access (Interfaces and device access): failed",
        "mlx5_0/1: port_down found, none wanted",
        "",
        "access.ports on b: failed (port_down)",
        "  rule    Each planned HCA is there, with an active port. Passes when every port is ACTIVE.",
        "  found   port_down",
        "  wanted  none",
        "  means   no link: cable, transceiver, switch port, or disabled",
        "  since   30/11/2026 14:05:02 GMT",
        "  repeat  cat /sys/x",
        "  next    ask networking engineering: no link: cable, transceiver, switch port, or disabled",
        "  evidence sysfs (sha256 abababababababab)",
        "    state: 1: DOWN",
    ]


def test_paths_that_do_not_count_are_listed(three, make):
    three.host("access.ports", "c", make.finding(Subject(node="c"), "fail", "port_down"))
    text = explanation_text(explain(three.verdict(), "a", "connectivity"))
    assert text.endswith("  a:mlx5_0>c:mlx5_0: c access failed\n  c:mlx5_0>a:mlx5_0: c access failed")


def test_a_node_or_check_that_is_none_is_refused_with_those_there_are(world):
    with pytest.raises(KeyError, match="x: no node of the verdict, one of a, b wanted"):
        explain(world.verdict(), "x", "access")
    with pytest.raises(KeyError, match="acces: no check, one of visibility, access"):
        explain(world.verdict(), "a", "acces")
