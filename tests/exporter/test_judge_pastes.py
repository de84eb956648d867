"""What people really paste: prompts and prefixes, half a table, after-effects of a failure, numbers that are none."""

import json
from pathlib import Path

import pytest

from exporter.judge import judge

TOOLS = Path(__file__).parents[1] / "fixtures" / "tools"
RULE = f"{'-' * 87}\n"
SETTINGS = " Device         : mlx5_0\n Data ex. method : Ethernet\n" + RULE
HEADER = " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"
ROW = " 65536      5000             97.10              96.90\t\t     0.184822\n"
SWEEP = " 2          5000             0.10               0.08 \t\t     5.000000\n" + ROW
TABLE = RULE + SETTINGS + HEADER + ROW + RULE
VERBOSE = (TOOLS / "ibv_devinfo" / "verbose.out").read_text()
NO_CONTEXT = " Couldn't get context for the device\n"


def prefixed(prefix: str) -> str:
    return "".join(f"{prefix}{line}\n" for line in TABLE.splitlines())


PERFTEST = [
    ("a row and nothing after it", SETTINGS + HEADER + ROW, "pass"),
    ("header and row alone", HEADER + ROW, "pass"),
    ("a row and a prompt", f"root@pod:/# ib_write_bw\n{SETTINGS}{HEADER}{ROW}root@pod:/# \n", "pass"),
    ("a row and text left out", SETTINGS + HEADER + ROW + "...\n", "unknown incomplete"),
    ("a sweep and nothing after it", SETTINGS + HEADER + SWEEP, "unknown sweep_incomplete"),
    ("lines of a system log", prefixed("Mar  1 10:11:12 gpu-01 ib_write_bw[311]: "), "pass"),
    ("lines with a number of a log before each", prefixed("INFO 12 "), "unknown incomplete"),
    ("a decimal comma", TABLE.replace("96.90", "96,90").replace("97.10", "97,10"), "unknown incomplete"),
    ("a column that is not known", TABLE.replace("[Mpps]\n", "[Mpps]   Jitter[us]\n"), "unknown unparsable"),
    ("a header that is cut", SETTINGS + HEADER[:50], "unknown unparsable"),
    ("settings and text left out", SETTINGS + "...\n", "unknown incomplete"),
    (
        "a port that is down",
        f" Port number 1 state is Down\n Couldn't set the link layer\n{NO_CONTEXT}",
        "fail port_down",
    ),
    ("an HCA that does not open", NO_CONTEXT, "fail permission_denied"),
    ("a wrong MTU", f" Invalid MTU - 9000 \n{NO_CONTEXT}", "unknown tool_misuse"),
    (
        "rdma_cm without an answer",
        "Received 10 times ADDR_ERROR\n Unable to init the socket connection\n",
        "fail rdma_cm_failed",
    ),
    ("more digits than a number has", TABLE.replace("97.10", "9" * 5000), "unknown incomplete"),
    ("JSON without an end", '{"test_info": ' + '{"a":' * 100_000, "unknown unparsable"),
]


@pytest.mark.parametrize(("what", "text", "expected"), PERFTEST, ids=[one[0] for one in PERFTEST])
def test_perftest(what: str, text: str, expected: str) -> None:
    found = judge("perftest", text, ["bandwidth=90Gbit/s"])
    assert f"{found.status.value} {found.reason}".strip() == expected


LINK = "link mlx5_0/1 state ACTIVE physical_state LINK_UP netdev eth2 \n"
GID = "fe80:0000:0000:0000:5054:00ff:fe12:3401"

PORTS = [
    ("rdma-link", "the command before its answer", f"root@n:~# rdma link\n{LINK}root@n:~# \n", "pass"),
    ("rdma-link", "the command with a word more", f"$ rdma link show\n{LINK}", "pass"),
    ("rdma-link", "the command with options", f"+ rdma -d -p link show\n{LINK}", "pass"),
    ("rdma-link", "a link that is cut", f"{LINK}link mlx5_1\n", "unknown truncated"),
    (
        "rdma-link",
        "a link that recovers",
        "link mlx5_0/1 state DOWN physical_state LINK_ERROR_RECOVER netdev eth2 \n",
        "fail port_down",
    ),
    ("rdma-link", "an array without an end", '[{"ifname":' + '{"a":' * 100_000, "unknown truncated"),
    ("rdma-link", "digits that are none", LINK.replace("/1", "/1 lid \u00b2"), "pass"),
    (
        "ibv-devinfo",
        "only zero GIDs",
        VERBOSE.split("\t\t\tGID[  0]")[0] + "\t\t\tGID[  0]:\t\t::\n",
        "fail gid_missing",
    ),
    (
        "ibv-devinfo",
        "a zero GID beside others",
        VERBOSE.replace("GID[  0]:", "GID[  9]:\t\t::\n\t\t\tGID[  0]:"),
        "pass",
    ),
    ("ibv-devinfo", "a whole GID at the end", VERBOSE.split("\t\t\tGID[  0]")[0] + f"\t\t\tGID[  0]:\t\t{GID}", "pass"),
    (
        "ibv-devinfo",
        "a GID that is cut",
        VERBOSE.split("\t\t\tGID[  0]")[0] + f"\t\t\tGID[  0]:\t\t{GID[:-1]}",
        "unknown truncated",
    ),
    (
        "ibv-devinfo",
        "a port count that is none",
        VERBOSE.replace("phys_port_cnt:\t\t\t1", "phys_port_cnt:\t\t\t\u00b2"),
        "pass",
    ),
]


@pytest.mark.parametrize(("kind", "what", "text", "expected"), PORTS, ids=[one[1] for one in PORTS])
def test_ports(kind: str, what: str, text: str, expected: str) -> None:
    found = judge(kind, text)
    assert f"{found.status.value} {found.reason}".strip() == expected


def test_every_answer_is_json() -> None:
    endless = f" local address: LID 0x{'f' * 9000} QPN 0x1 PSN 0x1\n#, usec\n1, 1e999999999\n{TABLE}"
    assert json.loads(json.dumps(judge("perftest", endless).as_json(), allow_nan=False))["reason"] == "no_target"
