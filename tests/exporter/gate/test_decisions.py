"""A decision counts only when it is complete, by two people, in a scope and for a time."""

from pathlib import Path

import pytest

from exporter.gate.decisions import Decision, DecisionKind, Scope, load_decisions, parse_decisions
from exporter.gate.inputs import MemberState
from exporter.gate.uk_time import parse_time
from probes import Subject

PROBES = ("visibility.plugin", "access.ports", "placement.paths")
NOW = parse_time("30/11/2026 14:05")
GOOD = """\
decisions:
  - id: no-kubernetes
    kind: not_applicable
    check: visibility
    scope: all
    requester: ana
    owner: platform engineering
    approver: bo
    justification: Slurm cluster, no device plugin
    compensating_control: none needed
    expires: 31/03/2027
    reference: CHG-1234
"""
NO_KUBERNETES = Decision(
    id="no-kubernetes",
    kind=DecisionKind.NOT_APPLICABLE,
    subject="visibility",
    scope=Scope(),
    requester="ana",
    owner="platform engineering",
    approver="bo",
    justification="Slurm cluster, no device plugin",
    compensating_control="none needed",
    expires=parse_time("01/04/2027 00:00"),
    reference="CHG-1234",
)


def changed(old, new):
    assert old in GOOD
    return GOOD.replace(old, new)


def test_a_complete_decision_counts():
    decisions = parse_decisions(GOOD, PROBES, NOW)
    assert (decisions.usable, decisions.refused) == ((NO_KUBERNETES,), ())


@pytest.mark.parametrize("scope", ["{nodes: [a]}", "{pools: [p], devices: [mlx5_0, mlx5_1]}"])
def test_a_scope_narrows(scope):
    (one,) = parse_decisions(changed("scope: all", f"scope: {scope}"), PROBES, NOW).usable
    assert str(one.scope) == scope.strip("{}").replace("[", "").replace("]", "").replace(":", "").replace(", d", "; d")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("    requester: ana\n", "", "requester: None found, a text wanted"),
        ("owner: platform engineering", "owner: ''", "owner: '' found, a text wanted"),
        ("approver: bo", "approver: ' Ana '", "approver: ' Ana ' also requested it, another person wanted"),
        ("justification: Slurm cluster, no device plugin", "justification: '-'", "justification: '-' found"),
        ("    compensating_control: none needed\n", "", "compensating_control: None found, a text wanted"),
        ("    expires: 31/03/2027\n", "", "'None' found, 31/12/2026, 31/12/2026 14:00 or 2026-12-31T14:00:00Z wanted"),
        ("31/03/2027", "29/11/2026", "expired 30/11/2026 00:00:00 GMT, a date to come wanted"),
        ("31/03/2027", "31/03/2028", "expires: 31/03/2028 found, at most a year from now wanted"),
        ("31/03/2027", "31/02/2027", "expires: '31/02/2027' found"),
        ("check: visibility", "check: visibilty", "placement, visibility wanted (did you mean visibility?)"),
        ("check: visibility", "probe: access.port", "visibility.plugin wanted (did you mean access.ports?)"),
        ("check: visibility", "check: visibility\n    probe: access.ports", "both or neither of check and probe found"),
        ("kind: not_applicable", "kind: waived", "kind: 'waived' found, one of accepted_exception, not_applic"),
        ("scope: all", "scope: {}", "scope: {} found, all, or lists of nodes, pools or devices wanted"),
        ("scope: all", "scope: {nodes: []}", "scope.nodes: [] found, a list of names wanted"),
        ("scope: all", "scope: {racks: [r]}", "scope.racks: unknown key, one of devices, nodes, pools wanted"),
        ("reference:", "referense:", "referense: unknown key"),
    ],
)  # fmt: skip
def test_a_decision_that_lacks_something_is_refused_by_its_id(old, new, said):
    decisions = parse_decisions(changed(old, new), PROBES, NOW)
    assert decisions.usable == ()
    assert said in decisions.refused[0]
    assert decisions.refused[0].startswith("no-kubernetes: ")


def test_a_refused_decision_leaves_the_others_usable():
    second = (
        GOOD.replace("decisions:\n", "").replace("no-kubernetes", "second").replace("approver: bo", "approver: ana")
    )
    decisions = parse_decisions(GOOD + second, PROBES, NOW)
    assert decisions.usable == (NO_KUBERNETES,)
    assert decisions.refused == ("second: approver: 'ana' also requested it, another person wanted",)


def test_a_second_decision_of_the_same_id_is_refused():
    decisions = parse_decisions(GOOD + GOOD.replace("decisions:\n", ""), PROBES, NOW)
    assert decisions.refused == ("no-kubernetes: id: no-kubernetes found a second time, an id of its own wanted",)


@pytest.mark.parametrize("text", ["", "decisions: []"])
def test_no_decisions_are_none(text):
    assert parse_decisions(text, PROBES, NOW).usable == ()
    assert parse_decisions(text, PROBES, NOW).refused == ()


@pytest.mark.parametrize("text", ["[]x", "3", "decisions: {a: b}", "decisons: []", "a: [", "decisions: [3]"])
def test_a_file_that_holds_no_decisions_is_said(text):
    decisions = parse_decisions(text, PROBES, NOW)
    assert decisions.usable == ()
    assert all(line.endswith(("wanted", "?)")) for line in decisions.refused)
    assert len(decisions.refused) == 1


def test_a_file_that_cannot_be_read_is_said(tmp_path: Path):
    assert load_decisions(tmp_path / "none.yaml", PROBES, NOW).refused[0].endswith("readable decisions wanted")


def test_a_decision_on_a_check_makes_it_not_applicable(world, make):
    world.drop("visibility.plugin")
    world.decisions = [make.decision("visibility")]
    assert world.statuses("a") == {"visibility": "not_applicable"}
    verdict = world.verdict()
    assert (verdict.is_open, verdict.banner) == (True, "open by 1 decision, identity not verified")
    assert verdict.decisions == (world.decisions[0],)
    assert world.check("a", "visibility").why.startswith(
        "visibility.plugin: not applicable by decision d-visibility until 01/12/2026 14:05:12 GMT"
    )


def test_a_decision_covers_a_probe_that_is_not_planned(world, make):
    world.probes = [one for one in world.probes if one.probe != "visibility.plugin"]
    world.decisions = [make.decision("visibility.plugin")]
    assert world.statuses("a") == {}
    assert world.verdict().banner == "open by 1 decision, identity not verified"


def test_an_expired_decision_is_gone_and_shown(world, make):
    world.drop("visibility.plugin")
    world.decisions = [make.decision("visibility", expires=world.now)]
    verdict = world.verdict()
    assert world.statuses("a") == {"visibility": "missing"}
    assert verdict.refused == ("d-visibility: expired 30/11/2026 14:05:12 GMT, a date to come wanted",)


def test_refused_decisions_are_shown(world):
    world.refused = ("x: owner: None found, a text wanted",)
    assert world.verdict().refused == world.refused


def test_a_decision_on_a_probe_leaves_the_other_probes_of_the_check(world, make):
    for node in "ab":
        world.host("access.gids", node, make.finding(Subject(node=node), "fail", "gid_missing"))
        world.host("access.ports", node, make.finding(Subject(node=node), "fail", "port_down"))
    world.decisions = [make.decision("access.gids", "accepted_exception")]
    check = world.check("a", "access")
    assert (check.status.value, [item.reason for item in check.reasons]) == ("failed", ["port_down"])


@pytest.mark.parametrize(
    ("scope", "closed"), [({"nodes": ("a",)}, "b"), ({"pools": ("q",)}, "ab"), ({"pools": ("p",)}, "")]
)
def test_a_decision_counts_only_in_its_scope(world, make, scope, closed):
    for node in "ab":
        world.host("placement.paths", node, make.finding(Subject(node=node), "fail", "too_far"))
    world.decisions = [make.decision("placement", "accepted_exception", **scope)]
    assert "".join(node for node in "ab" if not world.check(node, "placement").is_open) == closed


def test_a_decision_on_a_device_accepts_findings_on_that_device_alone(world, make):
    bad = [make.finding(Subject(node="a", device=f"mlx5_{n}"), "fail", "wrong_firmware") for n in (0, 1)]
    world.host("access.ports", "a", *bad)
    world.decisions = [make.decision("access.ports", "accepted_exception", devices=("mlx5_0",))]
    assert [item.status.value for item in world.check("a", "access").items[:2]] == ["accepted", "failed"]


def test_a_decision_on_a_device_covers_no_missing_result(world, make):
    world.drop("access.ports")
    world.decisions = [make.decision("access.ports", devices=("mlx5_0",))]
    assert world.check("a", "access").status.value == "missing"


def test_an_accepted_exception_on_one_end_speaks_of_its_paths(three, make):
    for one, other in (("a", "c"), ("c", "a")):
        three.path("transfers.write_bandwidth", one, other, ("fail", "missed_target", ()))
    three.decisions = [make.decision("transfers", "accepted_exception", nodes=("c",))]
    accepted = {"transfers": "accepted"}
    assert [three.statuses(node) for node in "abc"] == [accepted, {}, accepted]


def test_a_test_that_does_not_apply_to_a_peer_is_left_out_and_holds_nothing_up(three, make):
    three.decisions = [make.decision("connectivity", nodes=("c",))]
    assert three.statuses("a") == {}
    assert three.statuses("c") == {"connectivity": "not_applicable"}
    left_out = three.check("a", "connectivity").left_out
    assert left_out[0] == ("a:mlx5_0>c:mlx5_0: connectivity.ping_pong not applicable on c by decision d-connectivity")
    assert (three.check("a", "connectivity").paths, three.check("a", "transfers").paths) == (2, 4)


def test_a_decision_that_nothing_needs_is_not_counted(world, make):
    world.decisions = [make.decision("placement", "accepted_exception")]
    verdict = world.verdict()
    assert (verdict.banner, verdict.decisions, len(verdict.unused)) == ("open", (), 1)


def test_no_decision_opens_a_node_that_says_nothing(world, make):
    words = ("visibility", "access", "resources", "placement", "runtime", "connectivity", "transfers")
    world.decisions = [make.decision(word) for word in words]
    world.states = {"b": MemberState.SILENT}
    verdict = world.verdict()
    assert (verdict.node("a").is_open, verdict.node("b").is_open, verdict.is_open) == (True, False, False)


@pytest.mark.parametrize(
    ("device", "status"),
    [("0000:1a:00.0", "accepted"), ("mlx5_7", "accepted"), ("mlx5_3", "failed")],
)
def test_a_decision_on_a_device_of_a_path_knows_it_by_either_name(world, make, device, status):
    world.paths = [make.path(*ends, device="0000:1a:00.0") for ends in ("ab", "ba")]
    for path in world.paths:
        subject = Subject(path.client, "mlx5_7", "", path.server, "mlx5_7")
        for one in world.tests:
            bad = make.finding(subject, "fail", "missed_target") if one.probe.startswith("transfers") else None
            world.path(one.probe, path.client, path.server)
            key = (one.probe, one.probe, f"{path.client}:mlx5_0>{path.server}:mlx5_0")
            world.put(world.records[key].run, target=path.target, findings=(bad or make.finding(subject),))
    world.decisions = [make.decision("transfers", "accepted_exception", devices=(device,))]
    assert world.check("a", "transfers").status.value == status
