"""Through a real Alertmanager: one fault is one notification, to its owner, and it is told when it ends."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from alerts.lint.emitted import SCRAPES
from deploy.demo.receiver import Notification, Receiver, receiving
from tests.alerts.stack import alertmanager, ask, prometheus, until

ACCESS_FAILED = """\
rdma_gate_check_reason{{check="access",node="{node}",owner="network",pool="lab",reason="port_down",status="failed"}} 1
"""
WRONG_DATA = """\
rdma_gate_check_reason{{check="transfers",node="{node}",owner="gpu",pool="lab",reason="wrong_data",status="failed"}} 1
"""
PORTS_DOWN = "pool lab: 2 nodes failing access for port_down found, none wanted"
WRONG = "pool lab: 2 nodes in collectives with wrong elements found, none wanted. Nodes: node-a node-b "

POOL_NODES = "rdma_gate_pool_nodes{"


@pytest.fixture
def receiver():
    with receiving() as one:
        yield one


@pytest.fixture
def manager(program, receiver: Receiver, tmp_path: Path):
    with alertmanager(program("prometheus-alertmanager"), tmp_path, receiver.port) as url:
        yield url


def alert(name: str, severity: str = "warning", **labels: str) -> dict[str, object]:
    """An alert that fires now, as Prometheus sends it; of an older one nobody would wait for the rest of its group."""
    fixed = {"alertname": f"RDMAGate{name}", "severity": severity, "cluster": "c1", "pool": "a"}
    return {"labels": fixed | labels, "startsAt": now()}


def now() -> str:
    return datetime.now(UTC).isoformat()


def post(manager: str, *alerts: dict[str, object]) -> None:
    ask(f"{manager}/api/v2/alerts", list(alerts))


def held_back(manager: str) -> list[str]:
    """The alerts that another one inhibits."""
    found = ask(f"{manager}/api/v2/alerts")
    return sorted(
        one["labels"]["alertname"] + " " + one["labels"]["check"] for one in found if one["status"]["inhibitedBy"]
    )


def all_open(scrape: str) -> str:
    """The scrape with no reason why a check is closed, and both nodes open."""
    lines = [line for line in scrape.splitlines() if not line.startswith(("rdma_gate_check_reason{", POOL_NODES))]
    return "\n".join([*lines, f'{POOL_NODES}pool="lab",state="open"}} 2', ""])


def test_a_node_without_access_is_one_ticket_and_its_path_tests_are_held_back(manager: str, receiver: Receiver):
    node = {"node": "n1", "owner": "network"}
    link, flaps = (
        alert("CheckFailed", check="access", **node),
        alert("LinkFlapping", check="access", device="d0", **node),
    )
    paths = [alert("CheckFailed", check="connectivity", **node), alert("NodeNotVerified", check="transfers", **node)]
    missed = [alert("TargetMissed", check="transfers", device=f"d{number}", **node) for number in range(8)]
    post(manager, link, flaps, *paths, *missed)
    told = Notification("/network/ticket", "firing", ("RDMAGateCheckFailed", "RDMAGateLinkFlapping"))
    assert receiver.next() == told
    assert len(held_back(manager)) == len([*paths, *missed])
    post(manager, *(one | {"endsAt": now()} for one in (link, flaps, *paths, *missed)))
    ended = receiver.next()
    assert (ended.path, ended.status) == ("/network/ticket", "resolved")
    assert set(told.names) <= set(ended.names)
    assert receiver.arrived.empty()


def test_a_node_that_cannot_connect_is_not_told_of_its_transfers_as_well(manager: str, receiver: Receiver):
    node = {"node": "n1", "owner": "network"}
    paths = [alert("CheckFailed", check=check, **node) for check in ("connectivity", "transfers")]
    post(manager, *paths, alert("TargetMissed", check="transfers", device="d0", **node))
    told = receiver.next()
    assert (told.path, told.alerts[0]["labels"]["check"], len(told.alerts)) == ("/network/ticket", "connectivity", 1)
    assert held_back(manager) == ["RDMAGateCheckFailed transfers", "RDMAGateTargetMissed transfers"]
    post(manager, alert("CheckFailed", check="transfers", owner="network", node="n2"))
    assert receiver.next().alerts[0]["labels"]["node"] == "n2"


def test_collectives_over_tcp_are_one_page_for_their_nodes_and_their_pool(manager: str, receiver: Receiver):
    group = {"check": "transfers", "owner": "network"}
    post(
        manager,
        alert("TCPFallback", "critical", reason="tcp_fallback", **group),
        alert("PoolBelowNeed", "critical", check="all", owner="network"),
        *(alert("CheckFailed", node=node, **group) for node in ("n1", "n2")),
    )
    assert receiver.next() == Notification("/network/page", "firing", ("RDMAGateTCPFallback",))
    held = ["RDMAGateCheckFailed transfers", "RDMAGateCheckFailed transfers", "RDMAGatePoolBelowNeed all"]
    assert held_back(manager) == held
    post(manager, alert("WrongData", "critical", check="transfers", reason="wrong_data", owner="gpu", pool="b"))
    assert receiver.next() == Notification("/gpu/page", "firing", ("RDMAGateWrongData",))


def test_a_node_without_gpudirect_is_told_of_and_not_what_follows_from_it(manager: str, receiver: Receiver):
    node = {"node": "n1", "owner": "gpu"}
    post(
        manager,
        alert("GPUDirectLost", check="runtime", **node),
        alert("CheckFailed", check="transfers", **node),
        alert("HostStaging", check="transfers", reason="host_staged", owner="gpu"),
    )
    assert receiver.next() == Notification("/gpu/ticket", "firing", ("RDMAGateGPUDirectLost",))
    assert held_back(manager) == ["RDMAGateCheckFailed transfers", "RDMAGateHostStaging transfers"]
    post(manager, alert("HostStaging", check="transfers", reason="host_staged", owner="gpu", pool="b"))
    assert receiver.next() == Notification("/gpu/ticket", "firing", ("RDMAGateHostStaging",))


def test_a_collective_that_is_slow_for_a_slow_device_waits_for_it(manager: str, receiver: Receiver):
    missed = {"check": "transfers", "owner": "network"}
    post(
        manager,
        alert("TargetMissed", node="n1", device="d0", id="bw", **missed),
        alert("TargetMissed", group="whole-pool", id="ar", **missed),
    )
    told = receiver.next()
    assert [one["labels"].get("device") for one in told.alerts] == ["d0"]
    assert held_back(manager) == ["RDMAGateTargetMissed transfers"]
    post(manager, alert("TargetMissed", group="whole-pool", id="ar", pool="b", **missed))
    assert [one["labels"].get("group") for one in receiver.next().alerts] == ["whole-pool"]


def test_five_hundred_alerts_of_one_node_are_one_notification(manager: str, receiver: Receiver):
    labels = {"check": "transfers", "node": "n1", "owner": "network"}
    post(manager, *(alert("TargetMissed", device=f"d{number}", **labels) for number in range(500)))
    told = receiver.next()
    assert (told.path, len(told.alerts)) == ("/network/ticket", 500)
    post(manager, alert("CheckFailed", check="runtime", node="n2", owner="platform"))
    assert receiver.next() == Notification("/platform/ticket", "firing", ("RDMAGateCheckFailed",))


def test_a_common_cause_is_one_page_for_its_nodes_and_their_pool(manager: str, receiver: Receiver):
    cause = alert("CommonCause", "critical", check="access", reason="port_down", owner="network")
    post(
        manager,
        cause,
        alert("PoolBelowNeed", "critical", check="all", owner="network"),
        alert("PoolNotVerified", "critical", check="all", owner="platform"),
        *(alert("CheckFailed", check="access", owner="network", node=f"n{number}") for number in range(40)),
    )
    assert receiver.next() == Notification("/network/page", "firing", ("RDMAGateCommonCause",))
    assert held_back(manager)[-2:] == ["RDMAGatePoolBelowNeed all", "RDMAGatePoolNotVerified all"]
    assert len(held_back(manager)) == 42
    post(
        manager,
        alert("CommonCause", "critical", check="runtime", reason="memlock_too_small", owner="platform", pool="b"),
    )
    assert receiver.next() == Notification("/platform/page", "firing", ("RDMAGateCommonCause",))


def test_another_pool_or_cluster_is_not_held_back(manager: str, receiver: Receiver):
    post(manager, alert("CommonCause", "critical", check="access", reason="port_down", owner="network"))
    assert receiver.next().path == "/network/page"
    for other in ({"pool": "b"}, {"cluster": "c2"}):
        post(manager, alert("CheckFailed", check="access", owner="network", node="n1", **other))
        assert receiver.next() == Notification("/network/ticket", "firing", ("RDMAGateCheckFailed",))


def test_a_silent_node_is_told_of_once(manager: str, receiver: Receiver):
    post(
        manager,
        alert("NodeSilent", check="all", owner="platform", node="n1"),
        alert("NodeNotVerified", check="runtime", owner="platform", node="n1"),
        alert("ExporterDown", check="all", owner="platform", pool=""),
    )
    assert receiver.next() == Notification("/platform/ticket", "firing", ("RDMAGateNodeSilent",))
    assert held_back(manager) == ["RDMAGateExporterDown all", "RDMAGateNodeNotVerified runtime"]


@pytest.mark.parametrize(
    "case",
    [
        (ACCESS_FAILED, "/network/page", "RDMAGateCommonCause", PORTS_DOWN),
        (WRONG_DATA, "/gpu/page", "RDMAGateWrongData", WRONG),
    ],
    ids=["ports", "data"],
)
def test_a_scraped_fault_of_two_nodes_is_one_page_with_found_and_wanted_and_it_ends(
    case: tuple[str, str, str, str], program, manager: str, receiver: Receiver, tmp_path: Path
):
    fault, page, name, description = case
    receiver.text = healthy = all_open((SCRAPES / "gate.prom").read_text())
    with prometheus(program("prometheus"), tmp_path, receiver.port, manager) as url:
        receiver.text = healthy + "".join(fault.format(node=node) for node in ("node-a", "node-b"))
        told = receiver.next()
        assert told == Notification(page, "firing", (name,))
        assert told.alerts[0]["labels"]["cluster"] == "lab"
        assert told.alerts[0]["annotations"]["description"] == description
        receiver.text = healthy
        assert receiver.next() == Notification(page, "resolved", (name,))
        assert receiver.arrived.empty()
        groups = until(lambda: ask(f"{url}/api/v1/rules")["data"]["groups"])
        rules = [rule for group in groups for rule in group["rules"]]
        assert {(rule["health"], rule.get("lastError", "")) for rule in rules} == {("ok", "")}
