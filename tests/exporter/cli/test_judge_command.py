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


NODE = '{"allocatable": {"cpu": "64", "nvidia.com/gpu": "8", "rdma/hca": "1k"}, "capacity": {"rdma/hca": "1k"}}'


@pytest.mark.parametrize(("count", "code"), [("1000", 0), ("1001", 1)])
def test_a_node_is_judged_by_the_number_that_is_required(gate, count, code):
    assert gate("judge", "k8s-node", "--require", f"rdma/hca={count}", stdin=NODE).code == code


@pytest.mark.parametrize(
    ("kind", "text", "code"),
    [
        ("k8s-pod", "spec:\n  containers:\n  - name: a\n", 1),
        ("plugin-config", '{"configList": []}', 1),
        ("plugin-config", "2026/11/30 08:00:00 hca_a.sock gets registered successfully at Kubelet\n", 2),
        ("events", "Warning  TopologyAffinityError  1s  kubelet  x\n", 1),
        ("events", "", 2),
    ],
)
def test_what_kubernetes_says_is_judged_from_standard_input(gate, kind, text, code):
    assert gate("judge", kind, stdin=text).code == code


@pytest.mark.parametrize("kind", ["k8s-pod", "plugin-config", "events", "k8s-node"])
def test_a_target_that_the_kind_does_not_have_is_wrong_usage(gate, kind):
    said = gate("judge", kind, "--require", "bandwidth=360Gbit/s", stdin="x")
    assert (said.code, "Traceback" in said.err) == (64, False)


@pytest.mark.parametrize("wanted", ["bandwidth", "bandwidth=360", "nonsense=3us", "bandwidth=fast"])
def test_a_target_that_cannot_be_read_is_wrong_usage(gate, wanted):
    said = gate("judge", "perftest", GOOD, "--require", wanted)
    assert (said.code, said.out, "Traceback" in said.err) == (64, "", False)


NCCL = Path(__file__).parents[2] / "fixtures/nccl"


def test_nccl_tests_are_judged_at_the_planned_size_and_ranks(gate):
    wanted = ("--require", "bus_bandwidth=250GB/s", "--require", "size=128MiB")
    assert gate("judge", "nccl-tests", NCCL / "ar.json", *wanted, "--require", "ranks=2").code == 0
    said = gate("judge", "nccl-tests", NCCL / "ar.json", *wanted, "--require", "ranks=16")
    assert (said.code, said.json["reason"]) == (2, "ranks_differ")


def test_the_logs_of_several_ranks_are_judged_as_one_run(gate, tmp_path):
    for rank, line in enumerate(("0[0] -> 1[0] [send]", "0[0] -> 1[0] [receive]")):
        file = tmp_path / f"nccl.{rank}"
        file.write_text(f"node-{rank}:1:2 [0] NCCL INFO Channel 00/0 : {line} via NET/IB/0\n")
    said = gate("judge", "nccl-log", tmp_path / "nccl.0", tmp_path / "nccl.1")
    assert (said.code, said.json["reason"], said.json["values"]["hosts"]) == (1, "host_staged", 2)


def test_a_file_that_is_not_there_is_wrong_usage(gate, tmp_path):
    said = gate("judge", "nccl-log", NCCL / "ar-debug.out", tmp_path / "gone")
    assert (said.code, "gone" in said.err, "Traceback" in said.err) == (64, True, False)


def test_several_files_of_one_kind_of_output_are_wrong_usage(gate):
    assert gate("judge", "perftest", GOOD, GOOD).code == 64
