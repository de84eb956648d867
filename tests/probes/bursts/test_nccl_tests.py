"""nccl-tests runs all ranks of one node in one process; what it printed and what its JSON holds become one outcome."""

import json
import shutil
from pathlib import Path

import pytest

from probes import ProbeError
from probes._burst_settings import BurstSettings
from probes._endpoint import Ended
from probes._group import BurstWay, Collective
from probes._local_group import LocalGroupEndpoint
from probes.tools.nccl_tests_argv import nccl_tests_argv, options_of

FAKE = Path(__file__).parents[2] / "fixtures" / "gpu_libraries" / "fake_perf"
ROW = {
    "size": 4000,
    "count": 1000,
    "type": "float",
    "redop": "sum",
    "root": -1,
    "out_of_place": {"time": 12.5, "alg_bw": 0.32, "bus_bw": 0.32, "nwrong": 0.0},
    "in_place": {"time": 12.0, "alg_bw": 0.33, "bus_bw": 0.33, "nwrong": 0.0},
    "out_of_place_per_iter": {"times_us": [10.0, 12.5, 15.0]},
    "actual_iterations": 3,
}
REPORT = {
    "version": 2,
    "args": ["all_reduce_perf"],
    "env": ["HF_TOKEN=hf_secret", "NCCL_NVLS_ENABLE=0"],
    "nccl_version": 22809,
    "config": {"ngpus": 2, "nthreads": 1, "validation": 1, "devices": []},
    "results": [ROW],
    "out_of_bounds": {"count": 0, "okay": "true"},
    "average_bus_bandwidth": {"bandwidth": 0.325, "okay": "unchecked"},
}
TABLE = "# nccl-tests version 2.19.6\n"


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    folder = tmp_path / "programs"
    folder.mkdir()
    shutil.copy(FAKE, folder / "all_reduce_perf")
    (folder / "table.txt").write_text(TABLE)
    (folder / "report.json").write_text(json.dumps(REPORT))
    return folder


async def run(node, request):
    endpoint = LocalGroupEndpoint(node)
    ready = await endpoint.start(request)
    assert ready.unique_id == ""
    return await endpoint.wait()


async def test_one_process_has_all_ranks_and_its_times_are_told_with_each(node, asked, programs: Path):
    made = node(settings=BurstSettings(nccl_tests=programs))
    outcome = await run(made, asked(way=BurstWay.NCCL_TESTS))
    assert [(one.rank, one.ended, one.exit_status, one.detail) for one in outcome.ranks] == [
        (0, Ended.EXIT, 0, ""),
        (1, Ended.EXIT, 0, ""),
    ]
    assert {(one.seconds, one.message_bytes, one.wrong) for one in outcome.ranks} == {
        ((1e-5, 1.25e-5, 1.5e-5), 4000, 0)
    }
    assert ["Init COMPLETE" in one.debug_log for one in outcome.ranks] == [True, False]
    assert outcome.argv[:3] == (str(programs / "all_reduce_perf"), "-b", "4000")
    assert "-I" in outcome.argv
    assert outcome.stdout.startswith(TABLE)
    assert "hf_secret" not in outcome.stdout
    assert "NCCL_NVLS_ENABLE=0" in outcome.stdout


async def test_a_program_that_fails_is_told_of_with_its_status(node, asked, programs: Path):
    (programs / "fails").touch()
    made = node(settings=BurstSettings(nccl_tests=programs))
    outcome = await run(made, asked(way=BurstWay.NCCL_TESTS))
    first, second = outcome.ranks
    assert (first.exit_status, second.exit_status) == (3, 3)
    assert first.detail.startswith("rank_died: all_reduce_perf ended with exit status 3 after ")
    assert (first.stderr, second.stderr) == ("Test NCCL failure common.cu:1\n", "")


async def test_a_program_that_hangs_can_be_stopped(node, asked, programs: Path):
    (programs / "hang").touch()
    endpoint = LocalGroupEndpoint(node(settings=BurstSettings(nccl_tests=programs)))
    await endpoint.start(asked(way=BurstWay.NCCL_TESTS))
    await endpoint.stop()
    outcome = await endpoint.wait()
    assert [one.ended for one in outcome.ranks] == [Ended.STOPPED] * 2
    assert outcome.ranks[0].detail.startswith("stopped: all_reduce_perf ended with stopped after ")


async def test_a_program_on_the_path_is_found_and_a_missing_one_named(node, asked, programs: Path):
    made = node(path=f"{programs}:/usr/bin:/bin", search_path=str(programs))
    assert (await run(made, asked(way=BurstWay.NCCL_TESTS))).ranks[0].detail == ""
    with pytest.raises(ProbeError) as raised:
        await run(made, asked(way=BurstWay.NCCL_TESTS, collective=Collective.SENDRECV))
    assert (raised.value.reason, raised.value.summary) == (
        "tool_missing",
        "node-a: sendrecv_perf not found in the path, it is needed",
    )


def test_an_old_version_is_asked_for_nothing_that_it_does_not_know(asked):
    request = asked(way=BurstWay.NCCL_TESTS, message_bytes=1024, limit_seconds=9.5)
    common = "-b 1024 -e 1024 -g 2 -d float -c 1 -n 3 -w 1"
    old = nccl_tests_argv(request, program="p", options=frozenset(), report="r.json")
    new = nccl_tests_argv(request, program="p", options=frozenset({"-T", "-I", "-J"}), report="r.json")
    assert " ".join(old) == f"p {common}"
    assert " ".join(new) == f"p {common} -T 10 -I 1 -J r.json"


def test_options_are_read_from_the_help_text():
    assert options_of("USAGE: all_reduce_perf \n\t[-t,--nthreads <num>] \n\t[-J,--output_file <file> write]") == {
        "-t",
        "-J",
    }
