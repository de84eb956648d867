from dataclasses import replace
from types import ModuleType
from typing import Any

import pytest

from probes import End, Finding, Measured, Sample, Status
from probes._endpoint import Ended, Path, TestRequest, Tool
from probes.connectivity.ping_pong import Probe

LABELS = {"rail": "0", "class": "same_rail"}
SMALL = {"message": 64, "iterations": 100, "repeats": 2}
LARGE = {"large_message": 4096, "large_iterations": 300}
LATE = {"ended": Ended.DEADLINE, "exit_status": -15}


async def run(ends: ModuleType, path: Path, **settings: Any) -> Finding:
    (finding,) = await Probe(ends.COMPUTE, **(SMALL | LARGE | settings)).run(path)
    return finding


def small_then(ends: ModuleType, case: str, **changes: Any) -> Path:
    """Warm-up and two repeats play the good run, the large one plays ``case``."""
    sides = {
        side: [*[ends.played("pingpong-good", side)] * 3, ends.played(case, side, **changes)]
        for side in ("client", "server")
    }
    return ends.path_of(sides["client"], sides["server"])


async def test_a_clean_path_passes_with_its_round_trip(ends: ModuleType):
    path = small_then(ends, "pingpong-m4096")
    finding = await run(ends, path)
    assert (finding.status, finding.reason, finding.summary) == (
        Status.PASS,
        "",
        "node-b rxe0 to node-a rxe0: 1036.41 us round trip, also large messages at MTU 1024; clean runs wanted",
    )
    assert finding.measured == (Measured("round_trip", 0.00103641),)
    assert finding.samples == (
        Sample("ping_pong_round_trip_seconds", 0.00103641, {**LABELS, "stat": "median"}),
        Sample("ping_pong_round_trip_seconds", 0.00103641, {**LABELS, "stat": "worst"}),
        Sample("path_lost_packets", 0, LABELS),
        Sample("path_retries", 0, LABELS),
    )
    small = TestRequest(Tool.RC_PINGPONG, "rxe0", "node-a", 64, 100, 8.0, 1024, peer_port=20001, peer_hca="rxe0")
    assert path.client.asked == [small] * 3 + [replace(small, message_bytes=4096, iterations=300)]
    assert [one.name for one in finding.evidence][-2:] == ["large repeat 1 server", "large repeat 1 client"]


async def test_the_large_run_uses_the_ports_active_mtu(ends: ModuleType):
    sides = {
        side: [
            ends.played(case, side, ready=replace(ends.READY[side], active_mtu_bytes=4096))
            for case in ("pingpong-good", "pingpong-good", "pingpong-good", "pingpong-m4096")
        ]
        for side in ("client", "server")
    }
    path = ends.path_of(sides["client"], sides["server"])
    finding = await run(ends, path)
    assert finding.status is Status.PASS
    assert [request.path_mtu_bytes for request in path.server.asked] == [1024, 1024, 1024, 4096]


async def test_small_passing_and_large_hanging_is_an_mtu_blackhole(ends: ModuleType):
    finding = await run(ends, small_then(ends, "pingpong-blackhole", **LATE))
    assert (finding.status, finding.reason, finding.about, finding.measured) == (Status.FAIL, "mtu_blackhole", (), ())
    assert finding.summary.startswith(
        "node-b rxe0 to node-a rxe0: messages of 4096 bytes at MTU 1024 do not arrive while those at 1024 do, "
        "both wanted;"
        " both ends exchanged addresses, then no completion within 8 s, all wanted; bytes counted:"
    )


async def test_ports_with_different_active_mtus_fail_unless_that_is_planned(ends: ModuleType):
    client = ends.played("pingpong-good", "client", ready=replace(ends.READY["client"], active_mtu_bytes=4096))
    finding = await run(ends, ends.path_of([client], [ends.played("pingpong-good", "server")]))
    assert (finding.status, finding.reason, finding.summary) == (
        Status.FAIL,
        "mtu_mismatch",
        "node-b rxe0 to node-a rxe0: active MTUs 4096 and 1024 at the two ends, the same at both wanted",
    )
    path = ends.path_of(
        [client] * 3 + [ends.played("pingpong-m4096", "client")],
        [ends.played("pingpong-good", "server")] * 3 + [ends.played("pingpong-m4096", "server")],
    )
    assert (await run(ends, path, same_mtu=False)).status is Status.PASS
    assert path.client.asked[-1].path_mtu_bytes == 1024


async def test_a_path_where_nothing_arrives_is_no_completion_and_no_large_run_follows(ends: ModuleType):
    path = ends.path_of(
        [ends.played("pingpong-blackhole", "client", **LATE)], [ends.played("pingpong-blackhole", "server", **LATE)]
    )
    finding = await run(ends, path)
    assert (finding.status, finding.reason, finding.about, len(path.client.asked)) == (
        Status.FAIL,
        "no_completion",
        (),
        2,
    )


async def test_a_control_connection_that_is_dropped_says_nothing_about_rdma(ends: ModuleType):
    local = {side: ends.text("pingpong-blackhole", side, "out").splitlines()[0] + "\n" for side in ("client", "server")}
    path = ends.path_of(
        [ends.played("pingpong-blackhole", "client", **LATE, stdout=local["client"])],
        [ends.played("pingpong-blackhole", "server", **LATE, stdout=local["server"])],
    )
    finding = await run(ends, path)
    assert (finding.status, finding.reason) == (Status.UNKNOWN, "control_tcp")
    assert finding.summary == "node-b rxe0 to node-a rxe0: no control connection within 8 s, one wanted before any RDMA"


@pytest.mark.parametrize(
    ("case", "client", "server", "status", "reason"),
    [
        ("pingpong-rtr-failed", {"exit_status": 1}, {"exit_status": 1}, Status.FAIL, "gid_missing"),
        ("pingpong-link-down", LATE, {"exit_status": 1}, Status.FAIL, "local_qp_error"),
        ("pingpong-iters-differ", {}, LATE, Status.UNKNOWN, "tool_hung"),
    ],
)
async def test_recorded_failures_are_told_apart(
    ends: ModuleType, case: str, client: dict[str, Any], server: dict[str, Any], status: Status, reason: str
):
    path = ends.path_of([ends.played(case, "client", **client)], [ends.played(case, "server", **server)])
    finding = await run(ends, path)
    assert (finding.status, finding.reason) == (status, reason)


async def test_a_gid_that_was_not_asked_for_fails_that_end(ends: ModuleType):
    client = ends.played("pingpong-good", "client")
    client = replace(client, stdout=client.stdout.replace("::ffff:192.0.2.2", "fe80::2"))
    finding = await run(ends, ends.path_of([client], [ends.played("pingpong-good", "server")]))
    assert (finding.status, finding.reason, finding.about) == (Status.FAIL, "wrong_gid", (End("node-b", "rxe0"),))
    assert finding.summary == "node-b rxe0 to node-a rxe0: node-b rxe0 used GID fe80::2, ::ffff:192.0.2.2 wanted"


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("12800 bytes", "25600 bytes", "unparsable"),
        ("100 iters", "99 iters", "unparsable"),
        ("100 iters in 0.10 seconds = 1036.41 usec/iter\n", "100 iters in 0.", "unparsable"),
        ("QPN 0x000012, PSN 0x0018f7", "QPN 0x000013, PSN 0x0018f7", "foreign_peer"),
    ],
)
async def test_numbers_that_do_not_belong_together_never_pass(ends: ModuleType, old: str, new: str, reason: str):
    client = ends.played("pingpong-good", "client")
    assert old in client.stdout
    client = replace(client, stdout=client.stdout.replace(old, new))
    finding = await run(ends, ends.path_of([client], [ends.played("pingpong-good", "server")]))
    assert (finding.status, finding.reason) == (Status.UNKNOWN, reason)


async def test_an_unknown_active_mtu_is_tested_at_the_default(ends: ModuleType):
    sides = {
        side: [
            ends.played(
                case, side, ready=replace(ends.READY[side], active_mtu_bytes=0, gid="", link_layer="InfiniBand")
            )
            for case in ("pingpong-good", "pingpong-good", "pingpong-good", "pingpong-m4096")
        ]
        for side in ("client", "server")
    }
    path = ends.path_of(sides["client"], sides["server"])
    finding = await run(ends, path)
    assert (finding.status, path.client.asked[-1].path_mtu_bytes) == (Status.PASS, 1024)
    assert finding.facts["client_active_mtu"] == "unknown"
