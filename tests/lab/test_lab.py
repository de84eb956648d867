"""Two real kernels with real verbs: the lab works, its faults act, and restore undoes them."""

from dataclasses import dataclass

import pytest

from deploy.lab import Lab, Node, Result

pytestmark = pytest.mark.lab

PINGPONG = "stdbuf -oL ibv_rc_pingpong -d rxe0 -g 1 -n 20"
LISTENS = "until ss -Hltn 'sport = :18515' | grep -q .; do sleep 0.05; done"


@dataclass(frozen=True)
class Exchange:
    server: Result
    client: Result


def ping_pong(lab: Lab, limit_seconds: float = 20) -> Exchange:
    server, client = lab.nodes
    serving = server.begin(PINGPONG, uid=1000, timeout=limit_seconds + 2)
    assert server.run(LISTENS, timeout=10).rc == 0
    asked = client.run(f"{PINGPONG} {server.address}", uid=1000, timeout=limit_seconds)
    if asked.rc != 0:
        server.fault("kill-tools")
    return Exchange(serving.result(), asked)


def machine(node: Node) -> str:
    """What a fault could have left behind."""
    return node.run(
        """
        ip -o link show dev eth1
        ip -o address show dev eth1 | sed 's/valid_lft.*//'
        tc qdisc show dev eth1 | cut -d' ' -f1-2,4-
        nft list ruleset
        ls -l /dev/infiniband | awk '{print $1, $5, $6, $NF}'
        cat /sys/class/infiniband/rxe0/ports/1/gids/[0-3]
        ls -l /usr/bin/ib* | awk '{print $1, $5, $NF}'
        """
    ).out


def test_an_ordinary_user_plays_ping_pong_between_the_guests(lab: Lab) -> None:
    exchange = ping_pong(lab)
    assert (exchange.server.rc, exchange.client.rc) == (0, 0)
    assert "20 iters in" in exchange.client.out


def test_the_guests_have_the_host_s_time_and_differ_in_boot_id(lab: Lab) -> None:
    ids = {node.run(["cat", "/proc/sys/kernel/random/boot_id"]).out for node in lab.nodes}
    assert len(ids) == 2


def test_dropped_roce_packets_leave_the_client_without_a_word(lab: Lab) -> None:
    lab.node("node-a").fault("drop-4791", "in")
    exchange = ping_pong(lab, limit_seconds=3)
    assert exchange.client.timed_out
    assert exchange.client.err == ""
    lab.restore()
    assert ping_pong(lab).client.rc == 0


def test_a_device_that_only_root_may_open_is_reported_by_the_tool(lab: Lab) -> None:
    lab.node("node-b").fault("chmod-uverbs", "600")
    assert "Couldn't get context for rxe0" in ping_pong(lab).client.err
    lab.restore()
    assert ping_pong(lab).client.rc == 0


def test_a_tool_can_lose_its_result_row(lab: Lab) -> None:
    client = lab.node("node-b")
    client.fault("fake-tool", "ibv_rc_pingpong", "no-row")
    exchange = ping_pong(lab)
    assert exchange.client.rc == 0
    assert "remote address" in exchange.client.out
    assert "iters in" not in exchange.client.out


@pytest.mark.parametrize(
    "fault",
    [
        ("link-down",),
        ("delete-rxe",),
        ("block-control", "drop"),
        ("remove-uverbs",),
        ("remove-rdma-cm",),
        ("hide-tool", "perftest"),
        ("fake-tool", "ib_write_bw", "hang"),
    ],
    ids=lambda fault: fault[0],
)
def test_restore_leaves_no_trace_of_a_fault(lab: Lab, fault: tuple[str, ...]) -> None:
    node = lab.node("node-a")
    before = machine(node)
    node.fault(*fault)
    disturbed = machine(node)
    node.restore()
    assert disturbed != before
    assert machine(node) == before


def test_restore_twice_is_restore_once(lab: Lab) -> None:
    node = lab.node("node-a")
    node.restore()
    before = machine(node)
    node.restore()
    assert machine(node) == before
