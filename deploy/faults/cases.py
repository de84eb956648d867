"""The faults, each with what it is made of and what must be said about it."""

from dataclasses import dataclass

from deploy.faults.sights import AtGate, InTest, Sight, WhilePaused, Words

MIB = 2**20
LONG = {"message": 65536, "volume": 256 * MIB, "test_limit": 12.0}


@dataclass(frozen=True, slots=True)
class Made:
    """One fault of ``lab faults`` on one node."""

    node: str
    fault: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Case:
    """One line or more of the table: all of ``made`` at once, then each sight in turn."""

    title: str
    made: tuple[Made, ...]
    sights: tuple[Sight, ...]
    watches_memory: bool = False


def _case(title: str, *sights: Sight, on_b: tuple[str, ...] = (), on_a: tuple[str, ...] = ()) -> Case:
    made = tuple(Made(node, fault) for node, fault in (("node-a", on_a), ("node-b", on_b)) if fault)
    return Case(title, made, sights)


def _fail(*reasons: str) -> Words:
    return Words("fail", reasons)


def _unknown(*reasons: str) -> Words:
    return Words("unknown", reasons)


def _failed(*reasons: str) -> Words:
    return Words("failed", reasons)


CASES: tuple[Case, ...] = (
    _case("link down", AtGate("access", _failed("port_down")), on_b=("link-down",)),
    _case("uverbs removed", AtGate("access", _failed("not_injected")), on_b=("remove-uverbs",)),
    _case("uverbs chmod 600", AtGate("access", _failed("mode_denied")), on_b=("chmod-uverbs", "600")),
    _case(
        "GID of the planned interface removed",
        AtGate("access", _failed("address_missing", "gid_missing", "gid_link_local_only")),
        on_b=("remove-address",),
    ),
    _case("rxe device deleted", AtGate("access", _failed("device_missing")), on_b=("delete-rxe",)),
    # Right after faults for which the path tests had to wait, so that the gate's own next test is due.
    _case(
        "UDP 4791 dropped, both ways",
        AtGate("connectivity", _failed("no_completion"), limit_seconds=90),
        on_b=("drop-4791", "both"),
    ),
    _case(
        "memlock 64 KiB, non-root",
        AtGate("runtime", _failed("memlock_too_small"), limit_seconds=60),
        InTest("write-bw", _fail("memory_registration_failed")),
        on_b=("memlock", "64"),
    ),
    _case("UDP 4791 dropped, in", InTest("ping-pong", _fail("no_completion")), on_b=("drop-4791", "in")),
    _case("UDP 4791 dropped, out", InTest("ping-pong", _fail("no_completion")), on_b=("drop-4791", "out")),
    _case("TCP control port blocked", InTest("ping-pong", _unknown("control_tcp")), on_b=("block-control", "drop")),
    _case(
        "TCP control port refused",
        InTest("ping-pong", _unknown("control_tcp")),
        on_b=("block-control", "reject with tcp reset"),
    ),
    _case(
        "MTU 4200 against 1500",
        InTest("ping-pong", _fail("mtu_blackhole", "mtu_mismatch")),
        InTest("send-bw", Words("pass")),
        on_b=("mtu", "4200"),
    ),
    Case(
        "packets over 2000 bytes vanish",
        (Made("node-a", ("mtu", "4200")), Made("node-b", ("mtu", "4200")), Made("node-b", ("drop-large", "2000"))),
        (InTest("ping-pong", _fail("mtu_blackhole")),),
    ),
    _case(
        "5 % loss",
        InTest("send-bw", _fail("counters_errors"), {"volume": 1 * MIB, "test_limit": 20.0}),
        InTest("write-latency", Words("pass"), {"losses_at_most": 1.0, "test_limit": 20.0}),
        on_a=("loss", "5"),
        on_b=("loss", "5"),
    ),
    _case("paused", WhilePaused("write-bw", _unknown("paused"), LONG)),
    _case(
        "peer killed mid-test",
        InTest("write-bw", _unknown("peer_gone", "tool_killed"), LONG, again=("kill-tools",)),
    ),
    _case("perftest missing", InTest("send-bw", _unknown("tool_missing")), on_b=("hide-tool", "perftest")),
    _case(
        "a tool that hangs",
        InTest("ping-pong", _unknown("tool_hung")),
        on_b=("fake-tool", "ibv_rc_pingpong", "hang"),
    ),
    Case(
        "a tool that prints 1 GB",
        (Made("node-b", ("fake-tool", "ibv_rc_pingpong", "flood")),),
        (InTest("ping-pong", _unknown("output_truncated")),),
        watches_memory=True,
    ),
    _case(
        "exit 0 with no row",
        InTest("send-bw", _fail("no_result")),
        on_a=("fake-tool", "ib_send_bw", "no-row"),
    ),
    _case(
        "a result row of 0.00",
        InTest("send-bw", _fail("zero_result")),
        on_a=("fake-tool", "ib_send_bw", "zero-row"),
    ),
    _case("node silent", AtGate("access", Words("missing", ("silent",)), limit_seconds=40), on_b=("silence-node",)),
)
