"""Each thing that can be wrong with what was told is found and said; what is right is left alone."""

from deploy.demo.receiver import Notification
from deploy.pages.cases import Wanted
from deploy.pages.judge import arrived, ended, mistakes

TICKET = Wanted("RDMAGateCheckFailed", "network", "warning", "node-b")
IN_WORDS = "RDMAGateCheckFailed node-b (warning) at /network/ticket"


def told(status: str = "firing", *, path: str = "/network/ticket", group: str = "g1", at: float = 0.0, **labels: str):
    """One notification of one alert, the wanted one but for what is given."""
    right = {"alertname": "RDMAGateCheckFailed", "owner": "network", "severity": "warning", "node": "node-b"}
    alert = {"labels": right | {"check": "access"} | labels, "status": status}
    return Notification(path, status, (alert["labels"]["alertname"],), (alert,), group, at)


def found(*notifications: Notification) -> list[str]:
    return list(mistakes(TICKET, notifications))


def test_the_wanted_one_and_its_end_are_no_mistake():
    assert found(told(at=110), told("resolved", at=300)) == []


def test_several_alerts_of_one_kind_in_one_notification_are_the_wanted_one():
    both = told()
    both = Notification(both.path, both.status, both.names * 2, both.alerts + told(check="runtime").alerts, both.group)
    assert found(both, told("resolved", at=1)) == []


def test_silence_is_missing():
    assert found() == [f"no notification found, {IN_WORDS} wanted"]


def test_another_owner_is_wrong_and_says_so():
    wrong = told(path="/platform/ticket", owner="platform")
    assert found(wrong, told("resolved", at=1, path="/platform/ticket", owner="platform")) == [
        "ticket for platform: RDMAGateCheckFailed node-b access found (webhook /platform/ticket, owner platform), "
        f"{IN_WORDS} wanted"
    ]


def test_a_page_instead_of_a_ticket_is_wrong():
    wrong = told(path="/network/page", severity="critical")
    (sentence,) = found(wrong, told("resolved", at=1))
    assert "(webhook /network/page, severity critical)" in sentence


def test_another_alert_or_node_is_wrong():
    assert "(alert RDMAGateNodeSilent)" in found(told(alertname="RDMAGateNodeSilent"), told("resolved", at=1))[0]
    assert "(node node-a)" in found(told(node="node-a"), told("resolved", at=1))[0]


def test_a_second_group_for_the_same_fault_is_too_much():
    second = told(at=5, group="g2", node="node-a")
    assert found(told(), second, told("resolved", at=9), told("resolved", at=9, group="g2")) == [
        "an additional notification found (ticket for network: RDMAGateCheckFailed node-a access), "
        f"none beside {IN_WORDS} wanted"
    ]


def test_what_an_open_ticket_is_told_of_belongs_to_it():
    more, over = told(check="runtime").alerts, told("resolved", check="runtime").alerts
    again = [
        Notification("/network/ticket", "firing", ("RDMAGateCheckFailed",) * 2, told().alerts + some, "g1", at)
        for at, some in ((60, more), (120, over))
    ]
    assert found(told(), *again, told("resolved", at=190)) == []


def test_one_that_fires_again_after_its_end_is_too_much():
    (sentence,) = found(told(), told("resolved", at=10), told(at=60), told("resolved", at=90))
    assert sentence.startswith("an additional notification found")


def test_the_wanted_one_is_found_behind_a_wrong_one_which_is_too_much():
    wrong = told(group="g2", alertname="RDMAGatePoolBelowNeed", path="/network/page")
    sentences = found(wrong, told(at=5), told("resolved", at=9), told("resolved", at=9, group="g2"))
    assert [sentence.split(" (")[0] for sentence in sentences] == ["an additional notification found"]


def test_what_does_not_end_is_said():
    assert found(told()) == [
        "no end found of what was told (ticket for network: RDMAGateCheckFailed node-b access), resolved wanted"
    ]


def test_an_end_before_it_began_again_is_no_end():
    assert len(found(told(), told("resolved", at=10), told(at=20))) == 2


def test_two_ends_and_an_end_of_what_was_never_told_are_said():
    ends = found(told(), told("resolved", at=1), told("resolved", at=2), told("resolved", group="g9", at=3))
    assert ends == [
        "2 ends found of what was told (ticket for network: RDMAGateCheckFailed node-b access), one wanted",
        "an end found of what was never told (ticket for network: resolved RDMAGateCheckFailed node-b access), "
        "none wanted",
    ]


def test_only_what_is_right_in_every_respect_has_arrived():
    assert arrived(TICKET, [told(owner="gpu"), told("resolved")]) is None
    assert arrived(TICKET, [told(owner="gpu"), right := told(at=7)]) is right


def test_all_is_over_when_every_group_has_ended():
    assert not ended([])
    assert not ended([told(), told(group="g2"), told("resolved")])
    assert ended([told(), told(group="g2"), told("resolved"), told("resolved", group="g2")])
