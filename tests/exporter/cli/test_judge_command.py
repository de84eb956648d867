"""Saved output is judged from a file or from standard input, with the exit code of its status."""

from pathlib import Path

import pytest

GOOD = Path(__file__).parents[2] / "fixtures/tools/ib_write_bw/good-n200.client.out"


def test_a_clean_measurement_without_a_target_is_unknown_and_exit_2(gate):
    said = gate("judge", "perftest", GOOD)
    assert (said.code, said.json["status"], said.json["reason"]) == (2, "unknown", "no_target")


@pytest.mark.parametrize(("target", "code", "status"), [("1kB/s", 0, "pass"), ("360Gbit/s", 1, "fail")])
def test_a_target_decides(gate, target, code, status):
    said = gate("judge", "perftest", GOOD, "--require", f"bandwidth={target}")
    assert (said.code, said.json["status"]) == (code, status)


def test_standard_input_is_judged_like_a_file(gate):
    text = GOOD.read_text()
    assert gate("judge", "perftest", "-", stdin=text).json == gate("judge", "perftest", stdin=text).json
    assert gate("judge", "perftest", stdin=text).json == gate("judge", "perftest", GOOD).json


def test_bytes_that_are_no_text_are_judged_and_not_a_traceback(gate, tmp_path):
    file = tmp_path / "binary.out"
    file.write_bytes(b"\xff\xfe\x00" * 100)
    said = gate("judge", "perftest", file)
    assert (said.code, said.json["status"]) == (2, "unknown")


@pytest.mark.parametrize("wanted", ["bandwidth", "bandwidth=360", "nonsense=3us", "bandwidth=fast"])
def test_a_target_that_cannot_be_read_is_wrong_usage(gate, wanted):
    said = gate("judge", "perftest", GOOD, "--require", wanted)
    assert (said.code, said.out, "Traceback" in said.err) == (64, "", False)
