from pathlib import Path
from typing import Any

import pytest

from exporter.judge import judge

TOOLS = Path(__file__).parents[1] / "fixtures" / "tools"


def text(name: str) -> str:
    return (TOOLS / name).read_text()


def verdict(kind: str, output: str, *requirements: str) -> tuple[str, str]:
    found = judge(kind, output, requirements)
    return found.status.value, found.reason


GOOD = text("ib_write_bw/good-n200.client.out")
QPS4 = text("ib_write_bw/qps-4-n100.client.out")
BOTH_WAYS = text("ib_write_bw/bidirectional-n200.client.out")
DATAGRAM = text("ib_send_bw/ud-n100.client.out")
NO_GID = text("ib_write_bw/gid-index-empty.client.out") + text("ib_write_bw/gid-index-empty.client.err")
LATENCY = text("ib_write_lat/good-default.client.out")
SAMPLES = text("ib_write_lat/unsorted-U-n300.client.out")
FEW = text("ib_send_lat/good-n200.client.out")
CYCLES = text("ib_write_lat/cycles-C-n100.client.out")

PERFTEST = [
    ("a met target", GOOD, "bandwidth=51Mbit/s", "pass"),
    ("a missed target", GOOD, "bandwidth=52Mbit/s", "fail missed_target"),
    ("one of two missed", GOOD, "bandwidth=51Mbit/s mtu=4096", "fail missed_target"),
    ("a latency target on a bandwidth run", GOOD, "latency=3us", "unknown not_measured"),
    ("two runs", GOOD + QPS4, "", "unknown mixed_results"),
    ("a bandwidth and a latency run", GOOD + LATENCY, "bandwidth=1kbit/s", "unknown mixed_results"),
    ("both directions", BOTH_WAYS, "bandwidth=1kbit/s", "unknown bidirectional"),
    ("a wrong unit", GOOD.replace("MB/sec", "Gb/sec"), "bandwidth=1kbit/s", "unknown inconsistent"),
    ("a datagram of one MTU", DATAGRAM, "bandwidth=1kbit/s", "unknown small_message"),
    ("no data", text("ib_write_bw/peer-killed-midrun-client-sees.client.out"), "", "fail zero_result"),
    ("a table and no row", text("ib_write_bw/wrong-tool-peer.server.out"), "", "fail no_result"),
    ("a server waiting", "* Waiting for client to connect... *\n", "", "unknown incomplete"),
    ("the server of a read test", text("ib_read_lat/good-n200.server.out"), "", "unknown server_output"),
    ("JSON without quotation marks", text("ib_write_bw/out_json.file.client.out"), "", "unknown unparsable"),
    ("a bare number", "97.62\n", "bandwidth=1kbit/s", "unknown unit_unknown"),
    ("cycles", CYCLES, "latency=10s", "unknown unit_unknown"),
    ("p95 of 299 samples", SAMPLES, "latency_p95=2ms", "pass"),
    ("p99 of 299 samples", SAMPLES, "latency_p99=1s", "unknown not_measured"),
    ("p99 of 1,000 iterations", LATENCY, "latency_p99=7.4ms", "pass"),
    ("p99 of 200 iterations", FEW, "latency_p99=1s", "unknown not_measured"),
    ("a result and then an error", GOOD + "Failed status 12: wr_id 0\n", "bandwidth=1kbit/s", "fail retry_exceeded"),
    ("a result and an error status", GOOD + "client rc=1\n", "bandwidth=1kbit/s", "unknown tool_failed"),
    ("a result and status zero", GOOD + "client rc=0\n", "bandwidth=1kbit/s", "pass"),
    ("a refused connection", text("ib_write_bw/connection-refused.client.err"), "", "unknown control_tcp"),
    ("GIDs of two kinds", NO_GID, "", "fail gid_type_mismatch"),
]


@pytest.mark.parametrize(("what", "output", "requirements", "expected"), PERFTEST, ids=[one[0] for one in PERFTEST])
def test_perftest(what: str, output: str, requirements: str, expected: str) -> None:
    assert " ".join(verdict("perftest", output, *requirements.split())).strip() == expected


PINGPONG_GOOD = text("ibv_rc_pingpong/good.client.out")
ZERO = "0 bytes in 0.00 seconds = 0.00 Mbit/sec\n0 iters in 0.00 seconds = 0.00 usec/iter\n"

PINGPONG = [
    ("a met target", PINGPONG_GOOD, "round_trip=2.5ms", "pass"),
    ("a missed target", PINGPONG_GOOD, "round_trip=9.5us", "fail missed_target"),
    ("no target", PINGPONG_GOOD, "", "unknown no_target"),
    ("both ends", text("crun-k72/rc-pingpong-pod-to-pod.out"), "round_trip=1s", "pass"),
    ("addresses and no result", text("fault/tbf-1mbit.rc_pingpong.client.out"), "", "fail no_result"),
    ("only the own address", text("ibv_rc_pingpong/no-gid-flag.client.out"), "", "unknown incomplete"),
    ("a bad flag", text("ibv_rc_pingpong/bad-flag.err"), "", "unknown tool_lacks_feature"),
    ("a zero", ZERO, "", "fail zero_result"),
    ("two runs", PINGPONG_GOOD + text("ibv_ud_pingpong/good.server.out"), "", "unknown mixed_results"),
]


@pytest.mark.parametrize(("what", "output", "requirements", "expected"), PINGPONG, ids=[one[0] for one in PINGPONG])
def test_pingpong(what: str, output: str, requirements: str, expected: str) -> None:
    assert " ".join(verdict("pingpong", output, *requirements.split())).strip() == expected


def ibstat(**changes: str) -> str:
    fields = {
        "State": "Active",
        "Physical state": "LinkUp",
        "Rate": "400",
        "Base lid": "12",
        "SM lid": "1",
        "Link layer": "InfiniBand",
    } | {name.replace("_", " "): value for name, value in changes.items()}
    lines = "".join(f"\t\t{name}: {value}\n" for name, value in fields.items())
    return f"CA 'mlx5_0'\n\tCA type: MT4129\n\tNumber of ports: 1\n\tFirmware version: 28.39\n\tPort 1:\n{lines}"


IBSTAT = [
    (ibstat(), "pass", ""),
    (ibstat(State="Initializing", Base_lid="65535", SM_lid="0"), "fail", "no_subnet_manager"),
    (ibstat(SM_lid="0"), "fail", "no_subnet_manager"),
    (ibstat(Base_lid="65535"), "fail", "no_lid"),
    (ibstat(Base_lid="0"), "fail", "no_lid"),
    (ibstat(Base_lid="1x7"), "unknown", "truncated"),
    (ibstat(SM_lid=""), "unknown", "truncated"),
    (ibstat(State="Armed"), "fail", "port_not_active"),
    (ibstat(State="Down", Physical_state="Polling"), "fail", "port_down"),
    (ibstat(State="Down", Physical_state="Disabled", Link_layer="Ethernet"), "fail", "port_down"),
    (ibstat(State="Initializing", Link_layer="Ethernet"), "fail", "port_not_active"),
    (ibstat(Base_lid="0", SM_lid="0", Link_layer="Ethernet"), "pass", ""),
    (ibstat(Physical_state="Disabled"), "unknown", "inconsistent"),
    (ibstat(State="Aktiv"), "unknown", "state_unknown"),
]


INFINIBAND = """\
hca_id:\tmlx5_0
\ttransport:\t\t\tInfiniBand (0)
\tfw_ver:\t\t\t\t20.31.1014
\tvendor_id:\t\t\t0x02c9
\tvendor_part_id:\t\t\t4123
\tphys_port_cnt:\t\t\t1
\t\tport:\t1
\t\t\tstate:\t\t\tPORT_ACTIVE (4)
\t\t\tmax_mtu:\t\t4096 (5)
\t\t\tactive_mtu:\t\t4096 (5)
\t\t\tsm_lid:\t\t\t1
\t\t\tport_lid:\t\t7
\t\t\tport_lmc:\t\t0x00
\t\t\tlink_layer:\t\tInfiniBand
"""


@pytest.mark.parametrize(
    ("old", "new", "verdict_wanted"),
    [
        ("", "", ("pass", "")),
        ("port_lid:\t\t7", "port_lid:\t\t0", ("fail", "no_lid")),
        ("port_lid:\t\t7", "port_lid:\t\t1x7", ("unknown", "truncated")),
        ("port_lid:\t\t7", "port_lid:\t\t", ("unknown", "truncated")),
        ("sm_lid:\t\t\t1", "sm_lid:\t\t\t?", ("unknown", "truncated")),
    ],
)
def test_an_infiniband_port_is_judged_only_with_lids_that_can_be_read(old: str, new: str, verdict_wanted: Any) -> None:
    assert verdict("ibv-devinfo", INFINIBAND.replace(old, new)) == verdict_wanted


@pytest.mark.parametrize(("output", "status", "reason"), IBSTAT)
def test_ibstat(output: str, status: str, reason: str) -> None:
    assert verdict("ibstat", output) == (status, reason)


def test_a_rate_below_the_target_fails_even_where_the_port_is_usable() -> None:
    assert verdict("ibstat", ibstat(Rate="200"), "rate=400Gbit/s") == ("fail", "missed_target")
    assert verdict("ibstat", ibstat(), "rate=400Gbit/s") == ("pass", "")
    assert verdict("ibstat", ibstat(Rate=""), "rate=400Gbit/s") == ("unknown", "not_measured")


def test_one_bad_port_of_many_fails_all_and_names_itself() -> None:
    other = ibstat(State="Down", Physical_state="Polling").replace("mlx5_0", "mlx5_1")
    found = judge("ibstat", ibstat() + other)
    assert (found.status, found.reason, found.summary) == (
        "fail",
        "port_down",
        "mlx5_1/1: state DOWN found, ACTIVE wanted",
    )


def test_a_default_gid_of_zero_fails() -> None:
    output = text("ibstatus/good.out").replace("fe80:0000:0000:0000:5054:00ff:fe12:3401", "0000:" * 7 + "0000")
    assert verdict("ibstat", output) == ("fail", "gid_missing")


@pytest.mark.parametrize(
    ("kind", "name", "expected"),
    [
        ("ibv-devinfo", "ibv_devinfo/bad-device.err", ("fail", "device_missing")),
        ("ibv-devinfo", "ibv_devinfo/uverbs-chmod600-nonroot.err", ("fail", "permission_denied")),
        ("ibv-devinfo", "ibv_devinfo/list.out", ("unknown", "unparsable")),
        ("ibstat", "ibstat/short.out", ("unknown", "no_port_section")),
        ("rdma-link", "rdma/statistic.out", ("unknown", "truncated")),
        ("rdma-link", "rdma/link.out", ("pass", "")),
    ],
)
def test_descriptions_of_devices(kind: str, name: str, expected: tuple[str, str]) -> None:
    assert verdict(kind, text(name)) == expected


def test_a_usable_software_device_says_that_it_is_one() -> None:
    values: dict[str, Any] = judge("ibstat", text("ibstat/good.out")).as_json()["values"]
    assert (values["software_device"], values["fabric_grade"]) == (True, False)


def test_the_answer_is_plain_json_with_its_seven_keys() -> None:
    answer = judge("pingpong", text("ibv_rc_pingpong/good.client.out"), ["round_trip=1s"]).as_json()
    assert answer == {
        "kind": "pingpong",
        "status": "pass",
        "reason": "",
        "summary": "pingpong: round_trip 2406.44 us, at most 1s wanted",
        "values": {
            "distinct_results": 1,
            "truncated": False,
            "datagram": False,
            "addresses_exchanged": True,
            "local_gid": "::ffff:192.0.2.2",
            "remote_gid": "::ffff:192.0.2.1",
            "lid": 0,
            "invalid_pages": 0,
            "transferred_bytes": 8192000,
            "iterations": 1000,
            "round_trip_seconds": 0.00240644,
            "throughput_bytes_per_second": 3403750,
            "consistent": True,
        },
        "rows": [
            {
                "transferred_bytes": 8192000,
                "iterations": 1000,
                "round_trip_seconds": 0.00240644,
                "throughput_bytes_per_second": 3403750,
                "consistent": True,
            }
        ],
        "warnings": [],
    }


@pytest.mark.parametrize(
    ("kind", "requirement", "sentence"),
    [
        ("perftest", "bandwidth=360", "a bare number found"),
        ("perftest", "bandwidth", "one of bandwidth"),
        ("perftest", "rate=1Gbit/s", "one of bandwidth"),
        ("ibstat", "rate=0Gbit/s", "more than zero wanted"),
        ("ibstat", "mtu=\u00b2", "a number with a unit"),
        ("pingpong", "round_trip=9.5Gbit/s", "ns, us, ms"),
        ("nccl", "busbw=1GB/s", "one of perftest, pingpong"),
    ],
)
def test_a_target_that_is_not_understood_is_refused_with_a_sentence(kind: str, requirement: str, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        judge(kind, "", [requirement])
