from collections.abc import Callable
from decimal import Decimal

import pytest

from probes._endpoint import TestRequest, Tool
from probes.tools.pingpong import PingPongOutput, PingPongResult, parse_pingpong, pingpong_argv
from probes.tools.qp_address import QpAddress

Output = Callable[[str], str]

CLIENT = QpAddress(0, 0x11, 0x25B55A, "::ffff:192.0.2.2")
SERVER = QpAddress(0, 0x11, 0x9FB6DE, "::ffff:192.0.2.1")


def request(**changes: object) -> TestRequest:
    fixed = {"tool": Tool.RC_PINGPONG, "hca": "mlx5_0", "peer": "b", "message_bytes": 4096, "iterations": 1000}
    return TestRequest(**(fixed | {"limit_seconds": 20.0} | changes))  # type: ignore[arg-type]


def test_a_good_run_is_read_whole(output: Output) -> None:
    assert parse_pingpong(output("ibv_rc_pingpong/good.client.out")) == PingPongOutput(
        results=(
            PingPongResult(
                transferred_bytes=8192000,
                iterations=1000,
                round_trip_seconds=Decimal("0.00240644"),
                throughput_bytes_per_second=Decimal(3403750),
                local=CLIENT,
                remote=SERVER,
                consistent=True,
            ),
        ),
        local=CLIENT,
        remote=SERVER,
        datagram=False,
        truncated=False,
    )


def test_both_ends_of_one_run_are_one_result(output: Output) -> None:
    both = output("ibv_rc_pingpong/good.server.out") + output("ibv_rc_pingpong/good.client.out")
    assert [result.round_trip_seconds for result in parse_pingpong(both).results] == [Decimal("0.00242355")]


def test_the_datagram_variant_writes_its_own_address_with_a_colon(output: Output) -> None:
    read = parse_pingpong(output("ibv_ud_pingpong/good.server.out"))
    assert read.datagram
    assert read.local == QpAddress(0, 0x12, 0x404364, "::ffff:192.0.2.1")


def test_a_run_that_hung_has_addresses_and_no_result(output: Output) -> None:
    read = parse_pingpong(output("fault/tbf-1mbit.rc_pingpong.client.out"))
    assert (read.results, read.truncated, bool(read.local), bool(read.remote)) == ((), False, True, True)


def test_no_gid_is_seen_as_zero(output: Output) -> None:
    local = parse_pingpong(output("ibv_rc_pingpong/no-gid-flag.client.out")).local
    assert local is not None
    assert local.gid == "::"


def test_a_line_of_another_run_is_inconsistent(output: Output) -> None:
    text = output("ibv_rc_pingpong/good.client.out").replace("2406.44 usec/iter", "24.06 usec/iter")
    assert [result.consistent for result in parse_pingpong(text).results] == [False]


def test_one_line_alone_is_cut() -> None:
    read = parse_pingpong("8192000 bytes in 0.01 seconds = 7567.90 Mbit/sec\n")
    assert (read.results, read.truncated) == ((), True)


def test_the_servers_command_has_no_address_and_the_clients_ends_in_it() -> None:
    server = pingpong_argv(request(), device="mlx5_0", gid_index=3, tcp_port=20001, server=None)
    assert " ".join(server) == ("stdbuf -oL ibv_rc_pingpong -d mlx5_0 -i 1 -g 3 -p 20001 -s 4096 -n 1000")
    client = pingpong_argv(
        request(path_mtu_bytes=4096), device="mlx5_0", gid_index=None, tcp_port=20001, server="192.0.2.1"
    )
    assert " ".join(client) == ("stdbuf -oL ibv_rc_pingpong -d mlx5_0 -i 1 -p 20001 -s 4096 -n 1000 -m 4096 192.0.2.1")


@pytest.mark.parametrize(("device", "server"), [("-d", None), ("mlx5_0", "--help"), ("", None), ("mlx5_0", "a b")])
def test_a_name_that_reads_as_an_option_is_refused(device: str, server: str | None) -> None:
    with pytest.raises(ValueError, match="a plain name wanted"):
        pingpong_argv(request(), device=device, gid_index=None, tcp_port=1, server=server)


def test_another_tool_is_refused() -> None:
    with pytest.raises(ValueError, match="ibv_rc_pingpong wanted"):
        pingpong_argv(request(tool=Tool.WRITE_BW), device="mlx5_0", gid_index=None, tcp_port=1, server=None)
