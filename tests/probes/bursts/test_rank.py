"""Our own rank program, in as many processes as ranks, over a driver and an NCCL that work without a GPU."""

import asyncio
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from probes import ProbeError
from probes._burst_settings import BurstSettings
from probes._endpoint import Ended
from probes._group import BurstOutcome, Collective
from probes._local_group import LocalGroupEndpoint

NCCL4PY = Path(__file__).parents[2] / "fixtures" / "gpu_libraries" / "nccl4py"
# What -m probes.rank does, where the package of NCCL is found as well.
START = f"""
import runpy, sys
sys.path.insert(0, {str(NCCL4PY)!r})
runpy.run_module("probes.rank", run_name="__main__", alter_sys=True)
"""
WITHOUT_NCCL4PY = ("-P", "-m", "probes.rank")


@pytest.fixture
def ranks(node, libraries: Path, tmp_path_factory: pytest.TempPathFactory):
    def make(start: tuple[str, ...] = ("-P", "-c", START), **environment: str):
        settings = BurstSettings(environment={"NCCL_IB_HCA": "mlx5"})
        made = node(environment={"LD_LIBRARY_PATH": str(libraries)}, settings=settings)
        # What a fake library needs to know, no request could say.
        # The played NCCL has room for a short path only.
        folder = tmp_path_factory.mktemp("b")
        return replace(made, rank_argv=start, directory=folder, host=_with(made.host, environment))

    return make


def _with(host, environment: dict[str, str]):
    class Told:
        def __getattr__(self, name):
            return getattr(host, name)

        async def start(self, command):
            return await host.start(replace(command, environment={**command.environment, **environment}))

    return Told()


async def run(node, request) -> BurstOutcome:
    endpoint = LocalGroupEndpoint(node)
    await endpoint.start(request)
    return await endpoint.wait()


@pytest.mark.parametrize(
    ("collective", "message_bytes"),
    [
        (Collective.ALL_REDUCE, 100_000),
        (Collective.ALL_GATHER, 99_984),
        (Collective.REDUCE_SCATTER, 99_984),
        (Collective.ALLTOALL, 99_984),
        (Collective.SENDRECV, 100_000),
    ],
)
async def test_each_collective_runs_is_timed_and_its_data_checked(ranks, asked, collective, message_bytes):
    request = asked(collective=collective, message_bytes=100_000, ranks=3, ranks_here=3)
    outcome = await run(ranks(), request)
    assert [one.detail for one in outcome.ranks] == [""] * 3, outcome.ranks[0].stderr
    for one in outcome.ranks:
        assert (one.ended, one.exit_status, one.message_bytes, one.wrong) == (Ended.EXIT, 0, message_bytes, 0)
        assert one.gpu_uuid == f"GPU-{one.rank:08x}-0000-0000-0000-000000000000"
        assert len(one.seconds) == 3
        assert all(seconds > 0 for seconds in one.seconds)
        assert f"rank {one.rank} nranks 3 cudaDev 0 - Init COMPLETE" in one.debug_log
    assert outcome.nccl_version == "2.28.9"


async def test_all_to_all_of_an_older_nccl_is_made_of_sends_and_receives(ranks, asked, old_libraries: Path):
    request = asked(collective=Collective.ALLTOALL, message_bytes=99_984, ranks=3, ranks_here=3)
    outcome = await run(ranks(LD_LIBRARY_PATH=str(old_libraries)), request)
    assert [(one.detail, one.message_bytes, one.wrong) for one in outcome.ranks] == [("", 99_984, 0)] * 3


async def test_wrong_data_is_counted_where_it_arrived(ranks, asked):
    outcome = await run(ranks(), asked(environment={"NCCL_PROTO": "wrong"}))
    assert [(one.exit_status, one.wrong) for one in outcome.ranks] == [(0, 0), (0, 1)]


async def test_what_an_earlier_iteration_wrote_does_not_stand_for_the_last(ranks, asked):
    outcome = await run(ranks(), asked(environment={"NCCL_PROTO": "lazy"}))
    assert [one.wrong for one in outcome.ranks] == [0, 1000]


async def test_a_rank_killed_in_a_collective_ends_the_other_that_waits_for_it(ranks, asked):
    first, second = (await run(ranks(), asked(environment={"NCCL_PROTO": "die"}))).ranks
    assert second.detail.startswith(
        "rank_died: rank 1 ended with signal SIGKILL, last heard: rank 1: communicator made"
    )
    assert first.detail == "peer_ended: rank 0 ended because rank 1 ended with signal SIGKILL"


async def test_an_error_of_nccl_is_told_in_its_own_words(ranks, asked):
    _, second = (await run(ranks(), asked(environment={"NCCL_PROTO": "error"}))).ranks
    assert (second.exit_status, second.seconds) == (13, ())
    assert second.detail == (
        "nccl_error: rank 1: ncclAllReduce ended with 2 unhandled system error (connection closed by a peer), "
        "success wanted"
    )


async def test_ranks_that_wait_for_one_that_hangs_can_be_stopped(ranks, asked):
    node = ranks()
    endpoint = LocalGroupEndpoint(node)
    await endpoint.start(asked(environment={"NCCL_PROTO": "hang"}))
    while not all("COMPLETE" in text for text in _logs(node.directory)):
        await asyncio.sleep(0.02)
    await endpoint.stop()
    outcome = await endpoint.wait()
    assert [(one.ended, one.seconds) for one in outcome.ranks] == [(Ended.STOPPED, ())] * 2


def _logs(directory: Path) -> list[str]:
    found = [file.read_text() for file in directory.glob("*/nccl-*.log")]
    return found + [""] * (2 - len(found))


async def failure(node, request) -> tuple[str, str]:
    with pytest.raises(ProbeError) as raised:
        await LocalGroupEndpoint(node).start(request)
    return raised.value.reason, raised.value.summary.replace("rank 1", "rank 0")


async def test_an_absurd_size_is_refused_before_anything_is_allocated(ranks, asked):
    found = await failure(ranks(FAKE_GPU_BYTES="150000000000"), asked(message_bytes=200 * 2**30))
    parts = "214748364800 to send, 214748364800 to receive, 1 GiB for NCCL"
    assert found == (
        "gpu_memory",
        f"node-a: rank 0: GPU memory: 150000000000 bytes free found, 430570471424 wanted ({parts})",
    )


async def test_a_message_too_small_to_share_out_is_no_measurement(ranks, asked):
    found = await failure(ranks(), asked(collective=Collective.ALL_GATHER, message_bytes=8))
    assert found[0] == "message_too_small"


async def test_no_visible_gpu_is_told_in_the_drivers_words(ranks, asked):
    reason, summary = await failure(ranks(CUDA_VISIBLE_DEVICES=""), asked())
    assert reason == "gpu_missing"
    assert "cuInit answered 100 CUDA_ERROR_NO_DEVICE (no CUDA-capable device is detected) found" in summary


async def test_without_nccl4py_the_library_alone_will_do(ranks, asked):
    outcome = await run(ranks(WITHOUT_NCCL4PY), asked())
    if "by nccl4py" in outcome.ranks[0].stderr:
        pytest.skip("not run: nccl4py is installed here")
    assert [(one.detail, one.wrong) for one in outcome.ranks] == [("", 0)] * 2
    assert "rank 0: NCCL 2.28.9 by libnccl.so.2 loaded after" in outcome.ranks[0].stderr
    assert outcome.nccl_version == "2.28.9"


async def test_neither_nccl4py_nor_the_library_is_told_of(ranks, asked, libraries: Path, tmp_path: Path):
    (tmp_path / "only_cuda").mkdir()
    (tmp_path / "only_cuda" / "libcuda.so.1").symlink_to(libraries / "libcuda.so.1")
    node = ranks(WITHOUT_NCCL4PY, LD_LIBRARY_PATH=str(tmp_path / "only_cuda"))
    try:
        reason, summary = await failure(node, asked())
    except pytest.fail.Exception:
        pytest.skip("not run: NCCL is installed here")
    assert reason == "nccl_missing"
    assert summary.startswith("node-a: rank 0: nccl.core not importable (No module named 'nccl') and libnccl.so.2 not ")


async def test_a_library_that_is_not_there_is_told_of(ranks, asked, libraries: Path, tmp_path: Path):
    (tmp_path / "only_cuda").mkdir()
    (tmp_path / "only_cuda" / "libcuda.so.1").symlink_to(libraries / "libcuda.so.1")
    found = await failure(ranks(LD_LIBRARY_PATH=str(tmp_path / "only_cuda")), asked())
    assert found == (
        "nccl_missing",
        "node-a: rank 0: no libnccl.so.2 that nccl4py could load found, one wanted (nvidia-nccl-cu13)",
    )


@pytest.mark.parametrize("arguments", [(), ("/no/such/directory", "0"), ("/tmp", "first")])
def test_wrong_usage_is_said(arguments: tuple[str, ...]):
    done = subprocess.run(
        [sys.executable, "-m", "probes.rank", *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 64
    assert done.stderr.endswith("found, DIRECTORY with a task and RANK wanted\n")
