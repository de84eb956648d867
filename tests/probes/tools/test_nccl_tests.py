"""Whatever prints it and whatever stands between, the rows of nccl-tests are read by their own header."""

import json
from decimal import Decimal
from pathlib import Path

import pytest

from probes.tools.nccl_tests import Device, Row, Timing, read_all_nccl_tests, read_nccl_tests

RECORDED = Path(__file__).parents[2] / "fixtures" / "nccl"
HEADER = (
    "#       size         count      type   redop    root     time   algbw   busbw  #wrong"
    "     time   algbw   busbw  #wrong\n"
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  (GB/s)  (GB/s)\n"
)
ROW = (
    "    67108864      16777216     float     sum      -1"
    "   250.02  268.42  268.42       0   249.09  269.42  269.42       0\n"
)
END = "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 268.92 \n"


def recorded(name: str) -> str:
    return (RECORDED / name).read_text()


def timing(seconds: str, algorithm: str, bus: str, wrong: int | None = 0, error: str | None = None) -> Timing:
    return Timing(Decimal(seconds), Decimal(algorithm), Decimal(bus), wrong, None if error is None else Decimal(error))


WHOLE_ROW = Row(
    size_bytes=67108864,
    count=16777216,
    type="float",
    redop="sum",
    root=-1,
    out_of_place=timing("0.00025002", "268420000000", "268420000000"),
    in_place=timing("0.00024909", "269420000000", "269420000000"),
)


def test_a_recorded_run_is_read_whole():
    report = read_nccl_tests(recorded("ar-short.out"))
    assert report.rows == (WHOLE_ROW,)
    assert (report.collective, report.ranks, report.nodes, report.groups) == ("all_reduce", 2, ("vm",), 1)
    assert report.devices[1] == Device(1, 0, 1695, "vm", 1, "0000:00:07", "NVIDIA H200")
    assert (report.tests_version, report.nccl_version) == ("2.19.6", "2.28.9")
    assert (report.iterations, report.warmup_iterations, report.validation) == (10, 2, True)
    assert (report.out_of_bounds, report.average_bus_bytes_per_second) == (0, Decimal(268920000000))
    assert (report.ended, report.truncated, report.cut_rows, report.problems, report.errors) == (True, False, 0, (), ())


@pytest.mark.parametrize(
    ("name", "collective", "rows", "implied"),
    [
        ("ar", "all_reduce", 25, 2),
        ("ag", "all_gather", 9, 2),
        ("a2a", "alltoall", 9, 2),
        ("rs", "reduce_scatter", 9, 2),
        ("sr", "sendrecv", 9, None),
        ("bc", "broadcast", 9, None),
        ("red", "reduce", 9, None),
        ("ar-c", "all_reduce", 14, 2),
        ("ar-debug", "all_reduce", 8, 2),
        ("ar-socket", "all_reduce", 8, 2),
        ("ar-g1", "all_reduce", 6, 1),
    ],
)
def test_every_recorded_collective_is_read_with_its_ranks(name, collective, rows, implied):
    report = read_nccl_tests(recorded(f"{name}.out"))
    assert (report.collective, len(report.rows), report.ranks_implied) == (collective, rows, implied)
    assert (report.ended, report.cut_rows, report.problems) == (True, 0, ())


def test_na_is_not_zero_and_not_a_failure():
    report = read_nccl_tests(recorded("a2a.out"))
    assert [(row.out_of_place.wrong, row.in_place.wrong) for row in report.rows] == [(0, None)] * 9
    assert (report.data_checked, report.wrong) == (True, 0)
    unchecked = read_nccl_tests((HEADER + ROW + END).replace("      0", "    N/A"))
    assert (unchecked.data_checked, unchecked.wrong, unchecked.out_of_bounds) == (False, None, 0)


def test_the_size_is_the_one_that_was_run():
    report = read_nccl_tests(recorded("ar-oom.out"))
    assert [row.size_bytes for row in report.rows] == [48247057064]
    assert (report.asked_bytes, report.reduced_to_bytes) == (214748364800, 48247057066)


def test_the_json_of_a_run_says_what_its_text_says():
    text, from_json = read_nccl_tests(recorded("ar-json.out")), read_nccl_tests(recorded("ar.json"))
    assert [(row.size_bytes, row.count, row.root) for row in text.rows] == [
        (row.size_bytes, row.count, row.root) for row in from_json.rows
    ]
    assert from_json.rows[-1].out_of_place == timing("0.00047035035", "285356922000", "285356922000")
    assert (from_json.collective, from_json.ranks, from_json.nodes) == ("all_reduce", 2, ("vm",))
    assert (from_json.out_of_bounds, from_json.nccl_version, from_json.ended) == (0, "2.28.9", True)
    assert (from_json.errors, from_json.problems, from_json.minimum_met) == ((), (), None)


def test_json_that_is_cut_keeps_its_whole_rows_and_says_so():
    whole = recorded("ar.json")
    report = read_nccl_tests(whole[: whole.index('"size":134217728')])
    assert (len(report.rows), report.ended, report.truncated, report.problems) == (8, False, True, ("json_cut",))
    assert (report.collective, report.ranks) == ("all_reduce", 2)


def test_json_gives_every_iteration_and_marks_nan():
    document = json.loads(recorded("ar.json"))
    document["results"] = document["results"][-2:]
    document["results"][0]["out_of_place"]["bus_bw"] = "nan"
    document["results"][1]["out_of_place_per_iter"] = {"p99_us": 470.5, "times_us": [470.25, 470.5]}
    document["results"][1]["in_place"] = None
    report = read_nccl_tests(json.dumps(document))
    assert report.problems == ("not_a_number",)
    assert report.rows[0].in_place is None
    assert report.rows[0].timing.samples_seconds == (Decimal("0.00047025"), Decimal("0.0004705"))
    assert report.rows[0].timing.p99_seconds == Decimal("0.0004705")


@pytest.mark.parametrize("value", [0, "x", [], {}, None, True, [1], {"devices": 3, "minimum_bytes": []}])
@pytest.mark.parametrize(
    "key", ["config", "results", "args", "errors", "out_of_bounds", "nccl_version", "average_bus_bandwidth"]
)
def test_json_with_other_types_is_read_as_far_as_it_goes(key, value):
    document = json.loads(recorded("ar.json")) | {key: value}
    assert len(read_all_nccl_tests(json.dumps(document))) == 1


def test_the_table_of_version_2_9_has_no_root_and_a_relative_error():
    text = (
        "#       size         count    type   redop     time   algbw   busbw  error     time   algbw   busbw  error\n"
        "#        (B)    (elements)                     (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)       \n"
        "  1073741824     268435456   float     sum    16557   64.85  121.60  2e-07    16560   64.84  121.57  0e+00\n"
        "# Out of bounds values : 0 OK\n"
    )
    report = read_nccl_tests(text)
    assert report.rows == (
        Row(
            1073741824,
            268435456,
            "float",
            "sum",
            None,
            timing("0.016557", "64850000000", "121600000000", None, "2e-07"),
            timing("0.016560", "64840000000", "121570000000", None, "0"),
        ),
    )
    assert (report.data_checked, report.wrong) == (True, None)


def test_columns_of_per_iteration_timing_and_a_timestamp_are_read():
    half = "    time   algbw   busbw  #wrong    i_min    i_max    i_p99    i_cv%"
    units = "    (us)  (GB/s)  (GB/s)            (us)     (us)     (us)      (%)"
    cells = "  468.45  286.52  286.52       0   460.01   499.99   495.00     1.21"
    text = (
        f"#       size         count      type   redop    root {half}{half}           timestamp\n"
        f"#        (B)    (elements)                           {units}{units}  %Y-%m-%d %H:%M:%S\n"
        f"   134217728      33554432     float     sum      -1 {cells}{cells}  2026-11-30 10:00:00\n"
        "# Out of bounds values : 0 OK\n"
    )
    report = read_nccl_tests(text)
    assert report.cut_rows == 0
    assert report.rows[0].out_of_place.p99_seconds == Decimal("0.000495")
    assert report.rows[0].in_place.bus_bytes_per_second == Decimal(286520000000)


def test_cpu_time_is_a_time_and_units_are_the_header_s():
    text = (HEADER + ROW + END).replace("   time", "cputime").replace("(us)", "(ms)")
    assert read_nccl_tests(text).rows[0].timing.seconds == Decimal("0.25002")


def test_a_unit_that_is_not_known_gives_no_row():
    report = read_nccl_tests((HEADER + ROW + END).replace("(GB/s)", "(Gb/s)"))
    assert (report.rows, report.problems) == ((), ("unit_unknown",))


def test_an_empty_half_is_a_placement_that_did_not_run():
    blank = ROW[: ROW.index("   250.02")] + " " * 32 + ROW[ROW.index("   249.09") :]
    row = read_nccl_tests(HEADER + blank + END).rows[0]
    assert (row.out_of_place, row.in_place) == (None, WHOLE_ROW.in_place)
    assert row.timing is row.in_place


def test_a_row_that_lost_its_second_half_is_no_row():
    report = read_nccl_tests(HEADER + ROW[: ROW.index("   249.09")] + "\n" + END)
    assert (report.rows, report.cut_rows) == ((), 1)


@pytest.mark.parametrize("cut", range(60, len(ROW) - 1, 3))
def test_a_row_that_ends_the_text_is_not_trusted(cut):
    report = read_nccl_tests(HEADER + ROW + ROW[:cut])
    assert (report.rows, report.ended, report.truncated) == ((WHOLE_ROW,), False, True)


@pytest.mark.parametrize("last", ["1.04858e+06", "1.04858e+0", "1"])
def test_a_last_row_without_its_end_of_line_may_be_cut_though_it_looks_whole(last):
    report = read_nccl_tests(HEADER + ROW + ROW.rstrip().removesuffix("0") + last)
    assert (report.rows, report.cut_rows, report.wrong) == ((WHOLE_ROW,), 1, 0)


def test_nan_is_no_number():
    report = read_nccl_tests(HEADER + ROW.replace("268.42", "   nan") + END)
    assert (report.rows, report.problems) == ((), ("not_a_number",))


def test_counts_of_wrong_elements_may_be_scientific_or_starred():
    text = HEADER + ROW.replace("      0   249", "1.04858e+06   249").replace("      0\n", "     7*\n") + END
    row = read_nccl_tests(text).rows[0]
    assert (row.out_of_place.wrong, row.in_place.wrong) == (1048580, 7)


def test_an_absurd_number_is_no_number():
    assert read_nccl_tests(HEADER + ROW.replace("268.42", "1e9999999") + END).rows == ()


def test_lines_of_nccl_between_and_within_rows_do_no_harm():
    noise = "vm:1989:2007 [1] NCCL INFO Channel 00/0 : 1[1] -> 0[0] via P2P/direct pointer\n"
    begin, end = ROW[:52], ROW[52:]
    assert begin.endswith("-1")
    text = HEADER + noise + ROW + begin + noise + "[2026-11-30 03:36:56] " + noise + end + END
    assert read_nccl_tests(text).rows == (WHOLE_ROW, WHOLE_ROW)


def test_output_of_several_ranks_through_mpirun_is_one_report():
    lines = recorded("ar-short.out").splitlines()
    text = "\n".join(f"[1,0]<stdout>:{line}\n[1,1]<stdout>:vm:1:2 [1] NCCL INFO x" for line in lines) + "\n"
    assert len(read_all_nccl_tests(text)) == 1
    assert read_nccl_tests(text).rows == (WHOLE_ROW,)


def test_several_runs_in_one_text_are_told_apart():
    text = "$ ./all_reduce_perf -b 64M -e 64M -g 2\n" + recorded("ar-short.out") + recorded("bc.out")
    assert [(one.collective, len(one.rows)) for one in read_all_nccl_tests(text)] == [
        ("all_reduce", 1),
        ("broadcast", 9),
    ]
    assert read_nccl_tests(text).problems == ("several_reports",)


def test_the_tables_of_ranks_that_never_joined_are_several_reports_of_one_rank():
    reports = read_all_nccl_tests(recorded("ar-g1.out") * 4)
    assert [(one.ranks, len(one.rows)) for one in reports] == [(1, 6)] * 4


def test_a_list_of_ranks_with_gaps_says_so():
    rank = "#  Rank  {0} Group  0 Pid  95 on     node-{0} device  0 [0002:00:01] NVIDIA H100 80GB HBM3\n"
    report = read_nccl_tests(rank.format(0) + rank.format(8) + HEADER + ROW + END)
    assert (report.ranks, report.problems, report.nodes) == (9, ("ranks_left_out",), ("node-0", "node-8"))


def test_groups_of_a_split_run_are_communicators_of_their_own():
    line = "#  Rank  {} Group  {} Pid  95 on  node device  {} [0000:1b:00] NVIDIA H100\n"
    ranks = "".join(line.format(rank, rank % 2, rank) for rank in range(4))
    report = read_nccl_tests(ranks + HEADER + ROW + END)
    assert (report.ranks, report.groups, len(report.devices)) == (2, 2, 4)


def test_rank_lines_of_old_versions_have_neither_group_nor_domain():
    report = read_nccl_tests("#   Rank  0 on   node-1 device  0 [0x1b] Tesla V100\n" + HEADER + ROW + END)
    assert report.devices == (Device(0, 0, 0, "node-1", 0, "0x1b", "Tesla V100"),)


def test_a_text_of_something_else_is_no_report():
    assert read_all_nccl_tests("") == ()
    assert read_nccl_tests("hello\n").problems == ("no_report",)
    assert read_all_nccl_tests("x" * 200_000) == ()
