"""A notification is one line that says who is told what, and about whom."""

from deploy.demo.receiver import Notification, notification
from deploy.demo.told import told


def alert(name: str = "RDMAGateCheckFailed", **labels: str) -> dict[str, object]:
    return {"labels": {"alertname": name, **labels}}


def line(path: str, status: str, *alerts: dict[str, object]) -> str:
    return told(Notification(path, status, (), alerts))


def test_a_page_names_its_owner_alert_node_and_check():
    one = alert(node="node-b", check="access", pool="lab")
    assert line("/network/page", "firing", one) == "paged network: RDMAGateCheckFailed node-b access"


def test_a_ticket_that_is_over_says_so():
    one = alert("RDMAGateTargetMissed", node="node-b", device="rxe0", check="transfers")
    said = "ticket for network: resolved RDMAGateTargetMissed node-b rxe0 transfers"
    assert line("/network/ticket", "resolved", one) == said


def test_a_pool_is_named_where_there_is_no_node_and_all_is_no_check():
    one = alert("RDMAGatePoolBelowNeed", pool="lab", check="all")
    assert line("/platform/page", "firing", one) == "paged platform: RDMAGatePoolBelowNeed lab"


def test_the_same_said_again_is_counted_and_many_are_cut_short():
    alike = [alert(node="n1", check="access")] * 2
    others = [alert(node=f"n{number}") for number in range(2, 6)]
    assert line("/gpu/ticket", "firing", *alike, *others) == (
        "ticket for gpu: RDMAGateCheckFailed n1 access (2 times); RDMAGateCheckFailed n2; RDMAGateCheckFailed n3; "
        "and 2 more"
    )


def test_what_has_ended_is_told_behind_what_fires():
    over = alert(node="node-b", check="access") | {"status": "resolved"}
    fires = alert(node="node-b", check="runtime") | {"status": "firing"}
    assert line("/network/ticket", "firing", over, fires) == (
        "ticket for network: RDMAGateCheckFailed node-b runtime, resolved RDMAGateCheckFailed node-b access"
    )


def test_a_webhooks_body_is_read_with_its_group_and_time():
    body = {"status": "firing", "groupKey": "{}:{node}", "alerts": [alert("B"), alert("A")]}
    found = notification("/network/page", body, 12.5)
    assert found == Notification("/network/page", "firing", ("A", "B"))
    assert (found.group, found.at, len(found.alerts)) == ("{}:{node}", 12.5, 2)
