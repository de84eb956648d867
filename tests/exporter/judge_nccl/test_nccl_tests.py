"""nccl-tests is judged by what was planned: the planned size's bus bandwidth, ranks, right data, and the transport."""

import json
import re
import textwrap
from pathlib import Path

import pytest

from exporter.judge import judge

RECORDED = Path(__file__).parents[2] / "fixtures" / "nccl"
HEADER = (
    "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n"
    "# (B) (elements) (us) (GB/s) (GB/s) (us) (GB/s) (GB/s)\n"
)
END = "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 100\n"


def decided(name: str, *targets: str) -> tuple[str, str]:
    said = judge("nccl-tests", (RECORDED / name).read_text(), targets)
    return said.status.value, said.reason


def decided_of(text: str, *targets: str) -> tuple[str, str]:
    said = judge("nccl-tests", text, targets)
    return said.status.value, said.reason


def row(size: int, bus: str = "100.00", *, algorithm: str = "53.33", wrong: str = "0", kind: str = "float") -> str:
    half = f"{size / 53330:.2f} {algorithm} {bus} {wrong}"
    return f"{size} {size // 4} {kind} sum -1 {half} {half}\n"


@pytest.mark.parametrize(
    ("name", "targets", "status", "reason"),
    [
        ("ar.out", (), "unknown", "no_target"),
        ("ar.out", ("bus_bandwidth=250GB/s",), "pass", ""),
        ("ar.out", ("bus_bandwidth=290GB/s",), "fail", "missed_target"),
        ("ar.out", ("bus_bandwidth=250GB/s", "size=128MiB", "ranks=2"), "pass", ""),
        ("ar.out", ("bus_bandwidth=250GB/s", "size=1MiB"), "fail", "missed_target"),
        ("ar.out", ("bus_bandwidth=60GB/s", "size=1MiB"), "pass", ""),
        ("ar.out", ("bus_bandwidth=1GB/s", "size=1GiB"), "unknown", "size_not_run"),
        ("ar.out", ("bus_bandwidth=1GB/s", "ranks=16"), "unknown", "ranks_differ"),
        ("ar.out", ("latency=500us", "size=128MiB"), "pass", ""),
        ("ar.out", ("latency=400us", "size=128MiB"), "fail", "missed_target"),
        ("ar.out", ("latency_p99=500us",), "unknown", "not_measured"),
        ("ar.json", ("bus_bandwidth=250GB/s", "ranks=2"), "pass", ""),
        ("a2a.out", ("bus_bandwidth=200GB/s", "ranks=2"), "pass", ""),
        ("ar-oom.out", ("bus_bandwidth=300GB/s",), "unknown", "size_not_run"),
        ("ar-oom.out", ("bus_bandwidth=300GB/s", "size=200GiB"), "unknown", "size_not_run"),
        ("ar-g1.out", ("bus_bandwidth=1GB/s",), "unknown", "one_rank"),
        ("ar-g1.out", ("ranks=1", "latency=1s"), "unknown", "one_rank"),
        ("ar-socket.out", ("bus_bandwidth=1GB/s", "ranks=2"), "fail", "tcp_fallback"),
        ("ar-socket.out", (), "fail", "tcp_fallback"),
        ("ar-debug.out", ("bus_bandwidth=200GB/s",), "pass", ""),
        ("ar-badif.out", (), "fail", "no_socket_interface"),
        ("ar-ibforced.out", (), "fail", "no_rdma_device"),
        ("ar-toomany.out", (), "unknown", "tool_failed"),
        ("ar-toomany.err", (), "fail", "gpus_missing"),
        ("ar-novis.out", (), "fail", "no_gpu"),
        ("ar-badarg.out", (), "unknown", "tool_misuse"),
        ("ar-badarg.err", (), "unknown", "tool_misuse"),
    ],
)
def test_recorded_runs_are_judged_by_what_was_planned(name, targets, status, reason):
    assert decided(name, *targets) == (status, reason)


def test_the_average_over_all_sizes_is_never_the_measure():
    text = (
        HEADER
        + row(1024, "1.00")
        + row(2**30, "90.00")
        + "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 500\n"
    )
    assert decided_of(text, "bus_bandwidth=100GB/s") == ("fail", "missed_target")


def test_a_size_that_the_tool_rounded_to_whole_elements_of_each_rank_was_run():
    ranks = "".join(f"#  Rank  {one} Group  0 Pid  9 on node device  0 [0000:1b:00] NVIDIA H100\n" for one in range(6))
    text = ranks + HEADER + row(2**30 - 64, "83.32", algorithm="50.00") + END
    assert decided_of(text, "bus_bandwidth=50GB/s", "size=1GiB") == ("pass", "")
    assert decided_of(text, "bus_bandwidth=50GB/s", "size=2GiB") == ("unknown", "size_not_run")
    assert decided_of(text, "bus_bandwidth=50GB/s", "size=1073741759B") == ("unknown", "size_not_run")


def test_of_several_rows_of_the_planned_size_the_slowest_counts():
    text = HEADER + row(2**30, "100.00") + row(2**30, "40.00") + row(2**30, "100.00") + END
    assert decided_of(text, "bus_bandwidth=90GB/s", "size=1GiB") == ("fail", "missed_target")


@pytest.mark.parametrize("wrong", ["1", "1.04858e+06"])
def test_one_row_with_wrong_elements_fails_whatever_the_summary_and_the_speed_say(wrong):
    text = HEADER + row(1024, wrong=wrong) + row(2**30) + END
    assert decided_of(text, "bus_bandwidth=1GB/s") == ("fail", "wrong_data")


def test_wrong_data_outranks_every_other_fault_of_the_same_text():
    text = (
        HEADER + row(1024) + "# Out of bounds values : 3 FAILED\nnode: Test NCCL failure common.cu:1 'internal error'\n"
    )
    assert decided_of(text) == ("fail", "wrong_data")


@pytest.mark.parametrize(("error", "status"), [("2e-07", "pass"), ("1e+00", "fail")])
def test_without_a_summary_an_old_relative_error_near_one_is_wrong_data(error, status):
    header = "# size count type redop time algbw busbw error time algbw busbw error\n"
    half = f"16557 64.85 121.60 {error}"
    text = f"{header}  1073741824 268435456 float sum {half} {half}\n# Out of bounds values : 0 OK\n"
    cut = text[: text.index("# Out")]
    assert decided_of(text, "bus_bandwidth=1GB/s") == ("pass", "")
    assert decided_of(cut, "bus_bandwidth=1GB/s")[0] == ("fail" if status == "fail" else "unknown")


def test_a_run_without_its_summary_is_incomplete_however_good_its_rows():
    assert decided_of(HEADER + row(2**30), "bus_bandwidth=1GB/s") == ("unknown", "incomplete")


def test_a_table_without_a_row_is_incomplete():
    assert decided_of(HEADER) == ("unknown", "incomplete")
    assert decided_of(HEADER + END, "bus_bandwidth=1GB/s") == ("unknown", "incomplete")


def test_ranks_that_ran_alone_are_not_one_run():
    text = (RECORDED / "ar-g1.out").read_text() * 8
    assert decided_of(text, "bus_bandwidth=1GB/s", "ranks=8") == ("unknown", "ranks_not_joined")


def test_tables_of_unjoined_ranks_that_came_interleaved_are_not_one_run():
    lines = [(RECORDED / "ar-g1.out").read_text().splitlines() for _ in range(4)]
    woven = "".join(f"{line}\n" for group in zip(*lines, strict=True) for line in group)
    assert decided_of(woven, "bus_bandwidth=1GB/s") == ("unknown", "ranks_not_joined")


def test_a_list_of_ranks_that_was_left_out_in_part_is_completed_by_the_bandwidths():
    line = "#  Rank  {0} Group  0 Pid  9 on node device  {0} [0000:1b:00] NVIDIA H100\n"
    text = "".join(line.format(rank) for rank in range(4)) + "...\n" + HEADER + row(2**30) + END
    assert decided_of(text, "bus_bandwidth=90GB/s", "ranks=16") == ("pass", "")


def test_two_different_runs_are_not_one_result():
    text = (RECORDED / "ar.out").read_text() + (RECORDED / "bc.out").read_text()
    assert decided_of(text, "bus_bandwidth=1GB/s") == ("unknown", "mixed_results")


def test_a_list_of_ranks_that_the_bandwidths_contradict_is_inconsistent():
    ranks = "".join(f"#  Rank  {one} Group  0 Pid  9 on node device  0 [0000:1b:00] NVIDIA H100\n" for one in range(16))
    text = ranks + HEADER + row(2**30, "100.00", algorithm="100.00") + END
    assert decided_of(text, "bus_bandwidth=1GB/s", "ranks=16") == ("unknown", "inconsistent")


def test_a_plan_of_ranks_that_the_text_cannot_confirm_is_not_met():
    header = HEADER.replace("# size", "./broadcast_perf -b 1G\n# size")
    text = header + row(2**30, "50.00", algorithm="50.00") + END
    assert decided_of(text, "bus_bandwidth=1GB/s", "ranks=2") == ("unknown", "ranks_differ")


def test_the_tools_own_minimum_counts():
    assert decided_of(HEADER + row(2**30) + END.rstrip() + " FAILED\n", "bus_bandwidth=1GB/s") == (
        "fail",
        "missed_limit",
    )


def test_zero_is_no_bandwidth():
    text = HEADER + row(2**30, "0.00", algorithm="0.00") + END
    assert decided_of(text, "bus_bandwidth=1GB/s") == ("fail", "missed_target")


def test_data_that_was_not_checked_is_told_and_not_failed():
    said = judge("nccl-tests", HEADER + row(2**30, wrong="N/A") + END, ("bus_bandwidth=1GB/s",))
    assert (said.status, said.values["wrong"], said.values["data_checked"]) == ("pass", None, False)
    assert said.warnings[0] == "no row's data was checked: this run cannot show wrong results"


def test_a_fast_run_staged_through_host_memory_fails():
    lines = "".join(
        f"node-{at}:6636:6649 [0] NCCL INFO Channel 00/0 : {way} via NET/IB/0\n"
        for at, way in ((0, "0[0] -> 1[0] [send]"), (1, "0[0] -> 1[0] [receive]"))
    )
    assert decided_of(lines + HEADER + row(2**30, "390.00") + END, "bus_bandwidth=340GB/s") == ("fail", "host_staged")
    good = lines.replace("IB/0", "IB/0/GDRDMA")
    assert decided_of(good + HEADER + row(2**30, "390.00") + END, "bus_bandwidth=340GB/s") == ("pass", "")


def test_sockets_chosen_for_two_nodes_fail_before_any_channel_line():
    ranks = "".join(f"#  Rank  {at} Group  0 Pid  9 on node-{at} device  0 [0000:1b:00] NVIDIA H100\n" for at in (0, 1))
    line = "node-0:1:2 [0] NCCL INFO Using network Socket\n"
    text = ranks + line + HEADER + row(2**30, "50.00", algorithm="50.00") + END
    assert decided_of(text, "bus_bandwidth=1GB/s") == ("fail", "tcp_fallback")
    assert decided_of(text.replace("on node-1", "on node-0"), "bus_bandwidth=1GB/s") == ("pass", "")


def failures() -> list[tuple[str, str, str]]:
    """Status, reason and the words of the tool, of the messages in NCCL's and nccl-tests' sources."""
    blocks = re.split(r"^(?=\S)", (RECORDED / "failures.txt").read_text(), flags=re.MULTILINE)
    heads = [(*block.partition("\n")[0].split(), block.partition("\n")[2]) for block in blocks if block]
    return [(status, reason, textwrap.dedent(words)) for status, reason, words in heads]


@pytest.mark.parametrize(("status", "reason", "words"), failures())
def test_each_failure_has_the_reason_of_its_first_cause(status, reason, words):
    alone = reason in ("peer_gone", "tool_missing", "tool_killed", "tool_crashed")
    echo = "" if alone else "node-b: Test NCCL failure common.cu:1057 'remote process exited / '\n"
    assert decided_of(f"{HEADER}{words}{echo} .. node pid 1: Test failure common.cu:1454\n") == (status, reason)


def test_a_retry_of_a_connection_is_no_failure():
    refused = "connect to 192.0.2.2<4> returned Connection refused, retrying (1/34) after sleep for 100 msec"
    line = f"node:1:2 [0] NCCL INFO socketPollConnect: {refused}\n"
    assert decided_of(line + HEADER + row(2**30) + END, "bus_bandwidth=1GB/s") == ("pass", "")


def test_json_does_not_hide_what_stands_beside_it():
    told, text = (RECORDED / "ar.json").read_text(), (RECORDED / "ar-json.out").read_text()
    targets = ("bus_bandwidth=250GB/s", "ranks=2")
    assert decided_of(text + told, *targets) == ("pass", "")
    wrong = told.replace('"out_of_bounds":{"count":0', '"out_of_bounds":{"count":2')
    assert wrong != told
    assert decided_of(f"{told}\n{wrong}", *targets) == ("fail", "wrong_data")
    assert decided_of(text.replace("values : 0 OK", "values : 2 FAILED") + told, *targets) == ("fail", "wrong_data")
    assert decided_of(f"{told}\n{told}", *targets) == ("unknown", "mixed_results")
    socket = "vm:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] [send] via NET/Socket/0\n"
    assert decided_of(socket + told, *targets) == ("fail", "tcp_fallback")
    assert decided_of(f"{told}\n{socket}", *targets) == ("fail", "tcp_fallback")


def test_a_secret_in_the_json_never_reaches_the_answer():
    whole = (RECORDED / "ar.json").read_text()
    cut = whole[: whole.index('"nccl_version"')]
    complaining = whole.replace("HF_TOKEN=", "HF_TOKEN=invalid option ")
    for text in (whole, cut, complaining, complaining[: complaining.index('"nccl_version"')]):
        said = json.dumps(judge("nccl-tests", text).as_json())
        assert "notareal" not in said
