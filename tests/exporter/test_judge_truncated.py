"""A text that is cut never passes before the whole of its first result, and never breaks the judge."""

import json
from itertools import pairwise
from pathlib import Path

import pytest

from exporter.judge import judge

FIXTURES = Path(__file__).parents[1] / "fixtures"
RULE = "-" * 87

# the last argument is where the first whole result ends: no cut before it may pass
GOOD = [
    ("perftest", "ib_write_bw/good-n200.client.out", "bandwidth=1kbit/s", "0.000097"),
    ("perftest", "ib_write_bw/good-n200.server.out", "bandwidth=1kbit/s", "0.000097"),
    ("perftest", "ib_write_bw/good-n200-report_gbits.server.out", "bandwidth=1kbit/s", "0.000065"),
    ("perftest", "ib_write_bw/qps-4-n100.client.out", "bandwidth=1kbit/s", "0.000094"),
    ("perftest", "ib_send_bw/all-sizes-n20.client.out", "bandwidth=1kbit/s", f"0.000001\n{RULE}"),
    ("perftest", "ib_write_lat/good-default.client.out", "latency=1s", "8889.29"),
    ("perftest", "ib_write_lat/duration-2s.client.out", "latency_average=1s", "643.20"),
    ("perftest", "ib_write_lat/unsorted-U-n300.client.out", "latency_p95=1s", "3123.76"),
    ("pingpong", "ibv_rc_pingpong/good.client.out", "round_trip=1s", "2406.44 usec/iter"),
    ("pingpong", "ibv_ud_pingpong/good.server.out", "round_trip=1s", "871.45 usec/iter"),
    ("ibv-devinfo", "ibv_devinfo/good.out", "", "link_layer:\t\tEthernet"),
    ("ibv-devinfo", "ibv_devinfo/verbose.out", "", "GID[  0]:\t\tfe80::5054:ff:fe12:3401, RoCE v2"),
    ("ibstat", "ibstat/good.out", "", "Link layer: Ethernet"),
    ("ibstat", "ibstatus/good.out", "", "link_layer:\t Ethernet"),
    ("rdma-link", "rdma/link.out", "", "netdev eth1 "),
    ("rdma-link", "rdma/link-json.out", "", "}]"),
    ("rdma-link", "rdma/link-json-pretty.out", "", "} ]"),
]
CASES = [
    ("perftest", "perftest-001", "bandwidth=1kbit/s", "0.002962"),
    ("perftest", "perftest-004", "bandwidth=1kbit/s", "0.186184"),
    ("ibv-devinfo", "devinfo-001", "", "port_lmc:               0x00\n"),
    ("ibstat", "ibstat-004", "", "Link layer: Unknown"),
]


def recorded(name: str) -> str:
    if name.endswith(".out"):
        return (FIXTURES / "tools" / name).read_text()
    return str(json.loads((FIXTURES / "cases" / f"{name}.json").read_text())["input"])


def status(kind: str, text: str, requirement: str) -> str:
    return judge(kind, text, [requirement] if requirement else []).status.value


@pytest.mark.parametrize(("kind", "name", "requirement", "end"), GOOD + CASES)
def test_no_cut_before_the_end_of_the_first_result_passes(kind: str, name: str, requirement: str, end: str) -> None:
    text = recorded(name)
    assert status(kind, text, requirement) == "pass"
    whole = text.index(end) + len(end)
    step = max(1, whole // 150)
    cuts = {*range(0, whole, step), *range(max(0, whole - 120), whole)}
    assert [cut for cut in sorted(cuts) if status(kind, text[:cut], requirement) == "pass"] == []


@pytest.mark.parametrize(("kind", "name", "requirement", "end"), [one for one in GOOD + CASES if one[0] != "perftest"])
def test_a_description_without_its_beginning_never_passes(kind: str, name: str, requirement: str, end: str) -> None:
    lines = recorded(name).splitlines(keepends=True)
    first = 3 if kind == "pingpong" else 1
    passed = [skip for skip in range(first, len(lines)) if status(kind, "".join(lines[skip:]), requirement) == "pass"]
    assert passed == []


@pytest.mark.parametrize(("kind", "name", "requirement", "end"), GOOD + CASES)
def test_any_piece_is_judged_without_an_exception(kind: str, name: str, requirement: str, end: str) -> None:
    text = recorded(name)
    for start, stop in pairwise(range(0, len(text), max(7, len(text) // 25))):
        for piece in (text[start:stop], text[start:], text[:start] + text[stop:]):
            assert status(kind, piece, requirement) in {"pass", "fail", "unknown"}


@pytest.mark.parametrize("kind", ["perftest", "pingpong", "ibv-devinfo", "ibstat", "rdma-link"])
@pytest.mark.parametrize(
    "text", ["", "\n", "...", "\x00\xff\x1b[", "{", "[{", "[]", "null", "0", "CA '", "link ", "hca_id:"]
)
def test_odd_text_is_unknown(kind: str, text: str) -> None:
    assert status(kind, text, "") == "unknown"


@pytest.mark.parametrize(("kind", "name", "requirement", "end"), GOOD)
def test_output_of_another_tool_is_unknown(kind: str, name: str, requirement: str, end: str) -> None:
    others = {"perftest", "pingpong", "ibv-devinfo", "ibstat", "rdma-link"} - {kind}
    assert {status(other, recorded(name), "") for other in others} == {"unknown"}
