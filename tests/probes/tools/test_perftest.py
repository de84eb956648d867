from collections.abc import Callable
from decimal import Decimal

import pytest

from probes.tools.perftest import (
    BandwidthRow,
    LatencyRow,
    PerftestOutput,
    PerftestResult,
    parse_perftest,
    parse_perftest_json,
)
from probes.tools.qp_address import QpAddress

Output = Callable[[str], str]

MIB = 2**20
GOOD_ROW = BandwidthRow(
    message_bytes=65536,
    iterations=200,
    peak_bytes_per_second=Decimal("7.08") * MIB,
    average_bytes_per_second=Decimal("6.09") * MIB,
    message_rate_per_second=Decimal(97),
)
GOOD = PerftestResult(
    test="RDMA_Write BW",
    kind="bandwidth",
    device="rxe0",
    link_layer="Ethernet",
    transport="InfiniBand",
    connection="RC",
    gid_index=1,
    mtu_bytes=1024,
    queue_pairs=1,
    rdma_cm=False,
    tos=None,
    bidirectional=False,
    unit="MB/sec",
    local=(QpAddress(0, 0x2A, 0x1FA75A, "::ffff:192.0.2.2"),),
    remote=(QpAddress(0, 0x14, 0xE77D34, "::ffff:192.0.2.1"),),
    rows=(GOOD_ROW,),
    cut_rows=0,
    samples_seconds=(),
    header_complete=True,
    table=True,
    closed=True,
    server=False,
    server_only=False,
)


def only(text: str) -> PerftestResult:
    (result,) = parse_perftest(text).results
    return result


def dressed(text: str, prefix: str) -> str:
    return "".join(prefix + line for line in text.splitlines(keepends=True))


def test_a_bandwidth_run_is_read_whole(output: Output) -> None:
    text = output("ib_write_bw/good-n200.client.out")
    assert parse_perftest(text) == PerftestOutput(results=(GOOD,), gpu_lines=(), warnings=(), truncated=False)


@pytest.mark.parametrize(
    "prefix", ["", "> ", "[1,0]<stdout>:", "pod/bw: ", "2026-11-30T12:00:00Z ", "gpu-001: ", "0: "]
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_prefixes_and_line_ends_change_nothing(output: Output, prefix: str, end: str) -> None:
    text = dressed(output("ib_write_bw/good-n200.client.out"), prefix).replace("\n", end)
    assert only(text) == GOOD


def test_tabs_turned_to_blanks_change_nothing(output: Output) -> None:
    assert only(output("ib_write_bw/good-n200.client.out").replace("\t", "        ")) == GOOD


@pytest.mark.parametrize("order", [("client", "server"), ("server", "client")])
def test_both_ends_of_one_run_are_one_result_the_clients(output: Output, order: tuple[str, str]) -> None:
    text = "".join(output(f"ib_write_bw/good-n200.{end}.out") for end in order)
    result = only(text)
    assert (result.rows, result.local, result.ends, result.closed) == (GOOD.rows, GOOD.local, 2, True)


def test_each_end_of_a_send_latency_test_measures_and_the_client_counts(output: Output) -> None:
    client = only(output("ib_send_lat/good-n200.client.out"))
    both = only(output("ib_send_lat/good-n200.server.out") + output("ib_send_lat/good-n200.client.out"))
    assert both.rows == client.rows


def test_ends_interleaved_by_a_parallel_shell_are_told_apart(output: Output) -> None:
    client = output("ib_write_bw/good-n200.client.out").splitlines()
    server = output("ib_write_bw/good-n200.server.out").splitlines()
    lines = [
        f"gpu-{host}: {end[n]}"
        for n in range(len(server))
        for host, end in (("a", client), ("b", server))
        if n < len(end)
    ]
    assert only("\n".join(lines) + "\n").rows == GOOD.rows


def test_two_runs_are_two_results(output: Output) -> None:
    text = output("ib_write_bw/good-n200.client.out") + output("ib_write_bw/qps-4-n100.client.out")
    assert [result.queue_pairs for result in parse_perftest(text).results] == [1, 4]


def test_tables_without_settings_are_one_result_when_they_are_equal(output: Output) -> None:
    result = only(output("crun-k72/ib_write_bw-memlock64-CAP_IPC_LOCK-uid0.out"))
    assert (len(result.rows), result.ends, result.closed) == (1, 2, True)


def test_gigabits_are_decimal_bits(output: Output) -> None:
    assert only(output("ib_write_bw/good-n200-report_gbits.client.out")).rows == (
        BandwidthRow(
            message_bytes=65536,
            iterations=200,
            peak_bytes_per_second=Decimal("0.042577") * 125_000_000,
            average_bytes_per_second=Decimal("0.034177") * 125_000_000,
            message_rate_per_second=Decimal(65),
        ),
    )


def test_both_mebibyte_labels_mean_the_same(output: Output) -> None:
    text = output("ib_write_bw/good-n200.client.out").replace("MB/sec", "MiB/sec")
    assert only(text).rows == GOOD.rows


def test_each_queue_pair_has_its_address(output: Output) -> None:
    result = only(output("ib_write_bw/qps-4-n100.client.out"))
    assert [address.qpn for address in result.local] == [0x32, 0x33, 0x34, 0x35]
    assert {address.gid for address in result.remote} == {"::ffff:192.0.2.1"}


def test_a_peak_of_zero_was_not_measured(output: Output) -> None:
    (row,) = only(output("ib_write_bw/duration-3s.client.out")).rows
    assert isinstance(row, BandwidthRow)
    assert row.peak_bytes_per_second is None


def test_a_row_of_zero_stays_zero(output: Output) -> None:
    (row,) = only(output("ib_write_bw/peer-killed-midrun-client-sees.client.out")).rows
    assert row == BandwidthRow(65536, 0, None, Decimal(0), Decimal(0))


def test_a_sweep_has_all_its_sizes(output: Output) -> None:
    result = only(output("ib_send_bw/all-sizes-n20.client.out"))
    assert [row.message_bytes for row in result.rows] == [2**power for power in range(1, 24)]
    assert result.sweep
    assert result.closed


def test_latency_columns_are_seconds(output: Output) -> None:
    assert only(output("ib_write_lat/good-default.client.out")).rows == (
        LatencyRow(
            message_bytes=2,
            iterations=1000,
            average_seconds=Decimal("0.00203227"),
            minimum_seconds=Decimal("0.00039395"),
            maximum_seconds=Decimal("0.00888929"),
            typical_seconds=Decimal("0.00176551"),
            deviation_seconds=Decimal("0.00167894"),
            p99_seconds=Decimal("0.00737112"),
            p999_seconds=Decimal("0.00888929"),
        ),
    )


def test_a_latency_run_by_duration_has_average_and_rate_only(output: Output) -> None:
    assert only(output("ib_write_lat/duration-2s.client.out")).rows == (
        LatencyRow(2, 1287, average_seconds=Decimal("0.00077736"), transactions_per_second=Decimal("643.20")),
    )


def test_cycles_below_a_label_of_microseconds_are_no_times(output: Output) -> None:
    (row,) = only(output("ib_write_lat/cycles-C-n100.client.out")).rows
    assert row == LatencyRow(2, 100, average_seconds=None, problems=("unit_unknown",))


def test_a_deviation_that_overflowed_leaves_the_other_numbers_where_the_samples_are_in_microseconds(
    output: Output,
) -> None:
    result = only(output("ib_write_lat/slow-iterations-U-n200.client.out"))
    (row,) = result.rows
    assert (row.deviation_seconds, row.problems) == (None, ())
    assert (row.typical_seconds, row.maximum_seconds) == (Decimal("0.00341326"), Decimal("0.39693915"))
    assert (len(result.samples_seconds), max(result.samples_seconds)) == (199, Decimal("0.495025"))


def test_samples_in_cycles_are_no_times(output: Output) -> None:
    result = only(output("ib_write_lat/unsorted-U-n300.client.out").replace("#, usec", "#, cycles"))
    assert (result.samples_seconds, [row.problems for row in result.rows]) == ((), [("unit_unknown",)])


def test_raw_samples_come_in_time_order(output: Output) -> None:
    samples = only(output("ib_write_lat/unsorted-U-n300.client.out")).samples_seconds
    assert len(samples) == 299
    assert samples[:3] == (Decimal("0.00187796"), Decimal("0.000748884"), Decimal("0.000541798"))


def test_of_two_dumps_the_unsorted_one_counts(output: Output) -> None:
    unsorted = output("ib_write_lat/unsorted-U-n300.client.out")
    at = unsorted.index("#, usec")
    dump = unsorted[at : unsorted.index("-----", at)]
    values = sorted((line.split(", ")[1] for line in dump.splitlines()[1:]), key=Decimal)
    histogram = "#, usec\n" + "".join(f"{n}, {value}\n" for n, value in enumerate(values, start=1))
    text = unsorted[:at] + histogram + unsorted[at:]
    assert only(text).samples_seconds == only(unsorted).samples_seconds


def test_samples_with_a_gap_are_no_samples(output: Output) -> None:
    lines = output("ib_write_lat/unsorted-U-n300.client.out").splitlines(keepends=True)
    assert only("".join(lines[:60] + lines[160:])).samples_seconds == ()


def test_the_server_of_a_read_test_prints_no_result_by_nature(output: Output) -> None:
    result = only(output("ib_read_lat/good-n200.server.out"))
    assert (result.rows, result.server_only) == ((), True)


def test_a_column_more_is_read_by_its_name(output: Output) -> None:
    text = output("ib_write_bw/good-n200.client.out")
    text = text.replace("MsgRate[Mpps]", "MsgRate[Mpps]    CPU_Util[%]").replace("0.000097", "0.000097    3.21")
    (row,) = only(text).rows
    assert isinstance(row, BandwidthRow)
    assert row.cpu_util_percent == Decimal("3.21")


def test_the_report_per_port_is_read_by_its_names() -> None:
    text = (
        " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]   BW Port1[Gb/sec]   "
        "MsgRate Port1[Mpps]   BW Port2[Gb/sec]   MsgRate Port2[Mpps]\n"
        " 65536      100000           0.00   193.50   0.369072   96.70   0.184441   96.80   0.184631\n"
    )
    (row,) = only(text).rows
    assert isinstance(row, BandwidthRow)
    assert row.average_bytes_per_second == Decimal("193.50") * 125_000_000


WRONG = [
    ("6.09", "-6.09", "negative"),
    ("6.09", "-nan", "not_a_number"),
    ("6.09", "99999999.00", "absurd"),
    ("MB/sec", "Gb/sec", "inconsistent"),
    ("MB/sec", "GT/sec", "unit_unknown"),
]


@pytest.mark.parametrize(("printed", "instead", "problem"), WRONG)
def test_numbers_that_cannot_be_are_marked(output: Output, printed: str, instead: str, problem: str) -> None:
    text = output("ib_write_bw/good-n200.client.out").replace(printed, instead)
    assert only(text).rows[0].problems == (problem,)


def test_gpu_chatter_is_kept_as_evidence(output: Output) -> None:
    chatter = (
        "initializing CUDA\nCUDA device 0: PCIe address is 1B:00\n[pid = 7, dev = 0] device name = [NVIDIA H100]\n"
        "allocated GPU buffer of a 262144 address at 0x7f for type CUDA_MEM_DEVICE\n"
    )
    read = parse_perftest(chatter + output("ib_write_bw/good-n200.client.out"))
    assert (read.memory, len(read.gpu_lines), read.results) == ("cuda", 4, (GOOD,))


def test_counter_changes_after_the_row_do_no_harm(output: Output) -> None:
    text = output("ib_write_bw/good-n200.client.out") + "port_xmit_data: 12345\nhw_counters/retry_exceeded_err: 0\n"
    assert only(text) == GOOD


def test_one_bare_number_has_no_unit() -> None:
    assert parse_perftest("97.62\n") == PerftestOutput((), (), (), truncated=False, bare_numbers=(Decimal("97.62"),))


def test_a_sent_gid_with_an_impossible_octet_is_none(output: Output) -> None:
    result = only(output("ib_write_bw/good-n200.client.out").replace("255:255", "999:999"))
    assert [address.gid for address in result.local] == [""]


JSON = (
    '{"test_info":{"test":"RDMA_Write_BW_Test","Device":"mlx5_0","Number_of_qps":1,"Transport_type":"IB","Mtu":4096,'
    '"Link_type":"IB","rdma_cm_QPs":"OFF"},"results":{"MsgSize":65536,"n_iterations":5000,"BW_peak":0.00,'
    '"BW_average":387.10,"MsgRate":0.738335}}'
)


def test_json_needs_the_unit_remembered() -> None:
    read = parse_perftest_json(JSON, report_gbits=True, version="6.20")
    assert read is not None
    assert read.rows == (BandwidthRow(65536, 5000, None, Decimal("387.10") * 125_000_000, Decimal(738335)),)
    wrong = parse_perftest_json(JSON, report_gbits=False, version="6.29")
    assert wrong is not None
    assert wrong.rows[0].problems == ("inconsistent",)
    assert only(JSON).rows[0].problems == ("unit_unknown",)


def test_json_of_an_old_version_or_cut_json_is_none(output: Output) -> None:
    assert parse_perftest_json(JSON, report_gbits=True, version="6.06") is None
    assert parse_perftest_json(JSON[:-9], report_gbits=True, version="6.20") is None
    old = output("ib_write_bw/out_json.file.client.out")
    assert parse_perftest_json(old, report_gbits=True, version="6.20") is None


def test_a_fetching_test_names_its_operation(output: Output) -> None:
    result = only(output("ib_atomic_lat/good-n100.client.out"))
    assert (result.test, result.kind, result.rows[0].message_bytes) == ("Atomic FETCH_AND_ADD Latency", "latency", 8)


def test_a_connection_by_rdma_cm_has_addresses_without_keys(output: Output) -> None:
    result = only(output("ib_write_bw/rdma_cm-n100.server.out"))
    assert (result.rdma_cm, result.local) == (True, (QpAddress(0, 0x21, 0x6FF827, "::ffff:192.0.2.1"),))


HEADER = " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"
FLOODS = [
    HEADER * 5000,
    HEADER + "1 " * 90000,
    " " * 90000 + "x\n",
    "link " * 30000,
    "\x1b]" * 50000,
    "local address: LID " * 9000,
]


@pytest.mark.parametrize("text", FLOODS)
def test_a_flood_ends_without_a_result(text: str) -> None:
    assert [result.rows for result in parse_perftest(text).results] in ([], [()])


@pytest.mark.parametrize("digits_missing", range(1, 6))
def test_a_last_number_without_all_its_decimals_is_cut(output: Output, digits_missing: int) -> None:
    text = output("ib_write_bw/good-n200.client.out")
    result = only(text[: text.index("0.000097") + 8 - digits_missing])
    assert (result.rows, result.cut_rows) == ((), 1)
