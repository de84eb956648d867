"""A recording keeps every change, and is played as a day whose counters go on and whose ages stay."""

from pathlib import Path

import pytest

from tests.fixtures.history.play import day_end, lines
from tests.fixtures.history.record import from_dump, keep
from tests.fixtures.history.text import History, Series, read_history, write_history

DUMP = [
    '{__name__="up", instance="a:1", job="x"} 1 1000000000000',
    '{__name__="up", instance="a:1", job="x"} 1 1000000005000',
    '{__name__="up", instance="a:1", job="x"} 0 1000000010000',
    '{__name__="runs_total", why="a, b=\\"c\\""} 7 1000000005000',
    '{__name__="runs_total", why="a, b=\\"c\\""} NaN 1000000010000',
    '{__name__="last_timestamp_seconds"} 9.999999955e+08 1000000000000',
]
RECORDED = History(
    1e9,
    10.0,
    (
        Series("last_timestamp_seconds{}", ((0.0, -4.5),)),
        Series('runs_total{why="a, b=\\"c\\""}', ((5.0, 7.0), (10.0, None))),
        Series('up{instance="a:1",job="x"}', ((0.0, 1.0), (10.0, 0.0))),
    ),
)


def test_changes_are_kept_with_the_end_of_a_series_and_points_in_time_as_offsets():
    assert from_dump(DUMP) == (RECORDED, 6)


def test_what_rules_made_is_not_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = [
        '{__name__="check:rdma_gate_check_reason:max", check="access"} 1 1000000000000',
        '{__name__="ALERTS", alertname="RDMAGateCheckFailed"} 1 1000000000000',
    ]
    keep([*DUMP, *made], tmp_path / "lab.txt")
    assert read_history(tmp_path / "lab.txt") == RECORDED
    assert capsys.readouterr().out.startswith("2 samples left out, which rules made\n")


def test_a_line_that_is_no_sample_is_refused():
    with pytest.raises(ValueError, match="'level=warn' found, a sample wanted"):
        from_dump([*DUMP, "level=warn"])


def test_a_written_history_reads_as_it_was(tmp_path: Path):
    file = tmp_path / "lab.txt"
    write_history(RECORDED, file)
    assert read_history(file) == RECORDED
    assert file.read_text() == (
        "# 10.000 s of 3 series, begun at 1000000000.000\n"
        "last_timestamp_seconds{}\n0 -4.5\n"
        'runs_total{why="a, b=\\"c\\""}\n5 7\n10 gone\n'
        'up{instance="a:1",job="x"}\n0 1\n10 0\n'
    )


@pytest.mark.parametrize("text", ["up{}\n0 1\n", "# 10.000 s of 2 series, begun at 1.000\nup{}\n0 1\n"])
def test_a_file_that_is_no_whole_history_is_refused(text, tmp_path: Path):
    (tmp_path / "lab.txt").write_text(text)
    with pytest.raises(ValueError, match=r"lab\.txt: .* found, .* wanted"):
        read_history(tmp_path / "lab.txt")


def played(key, changes, seconds=300.0, length=600):
    history = History(1e9, seconds, ())
    return [line.split()[-2:] for line in lines(Series(key, changes), history, 1_000_000, length)]


def test_a_gauge_is_played_again_each_turn_and_is_absent_while_it_was_gone():
    changes = ((0.0, 1.0), (120.0, None), (240.0, 2.0))
    assert played("up{}", changes) == [
        ["1.0", "1000000"],
        ["1.0", "1000060"],
        ["2.0", "1000240"],
        ["1.0", "1000300"],
        ["1.0", "1000360"],
        ["2.0", "1000540"],
        ["1.0", "1000600"],
    ]


def test_a_counter_goes_on_over_turns_and_restarts():
    changes = ((0.0, 10.0), (60.0, 13.0), (180.0, 2.0))
    assert [value for value, _ in played("runs_total{}", changes)] == [
        *("0.0", "3.0", "3.0", "5.0", "5.0"),
        *("5.0", "8.0", "8.0", "10.0", "10.0"),
        "10.0",
    ]


def test_a_point_in_time_keeps_its_age():
    values = played("last_run_timestamp_seconds{}", ((0.0, -5.0), (120.0, 118.0)))
    ages = [int(at) - float(value) for value, at in values]
    assert ages == [5, 65, 2, 62, 122, 5, 65, 2, 62, 122, 5]


def test_the_day_ends_with_the_minute_in_which_the_recording_ended():
    assert day_end(History(1_000_000_020.0, 30.0, ())) == 1_000_000_080


def test_a_recording_that_is_too_large_is_written_and_said(tmp_path: Path, capsys):
    assert keep(DUMP, tmp_path / "lab.txt") == 0
    assert keep(DUMP, tmp_path / "lab.txt", limit_bytes=100) == 1
    said = capsys.readouterr().out
    assert said.count("6 samples read, 5 kept: the others repeat the one before") == 2
    assert said.count("bytes found, at most 100 wanted") == 1
    assert read_history(tmp_path / "lab.txt") == RECORDED
