"""Ranks are processes: they end together, whatever one of them does, and what they left is told rank by rank."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from probes import ProbeError
from probes._burst_ranks import LOG_LIMIT_BYTES
from probes._burst_settings import BurstSettings
from probes._endpoint import Ended, Refused
from probes._group import BurstOutcome, RankOutcome
from probes._local_group import LocalGroupEndpoint, remove_left_over

ID = "5a" * 8 + "0200a8ca7f000001" + "00" * 112
LOG = "vm:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM\n"


async def run(node, request) -> BurstOutcome:
    endpoint = LocalGroupEndpoint(node)
    await endpoint.start(request)
    return await endpoint.wait()


async def test_every_rank_reports_and_nothing_is_left_behind(node, asked, tmp_path: Path):
    endpoint = LocalGroupEndpoint(node())
    assert (await endpoint.start(asked())).unique_id == ID
    outcome = await endpoint.wait()
    assert outcome == await endpoint.wait()
    assert outcome.ranks == tuple(
        RankOutcome(
            rank=rank,
            gpu_uuid=f"GPU-{rank:08x}-0000-0000-0000-000000000000",
            pci_address="0000:1b:00.0",
            ended=Ended.EXIT,
            exit_status=0,
            seconds=(0.001, 0.001, 0.001),
            message_bytes=4000,
            wrong=0 if rank else 3,
            debug_log=LOG,
            stderr=f"rank {rank}: ok of 2\n",
        )
        for rank in range(2)
    )
    assert (outcome.node, outcome.nccl_version, outcome.stdout, outcome.truncated) == ("node-a", "2.28.9", "", False)
    assert outcome.counters_before == outcome.counters_after == {"mlx5_0/1": {"port_xmit_data": 17}}
    assert list((tmp_path / "bursts").iterdir()) == []


async def test_another_node_runs_its_own_ranks_with_the_id_that_it_was_given(node, asked):
    request = asked(ranks=4, first_rank=2, unique_id="ab" * 128, members=("node-b", "node-a"))
    endpoint = LocalGroupEndpoint(node())
    assert (await endpoint.start(request)).unique_id == "ab" * 128
    outcome = await endpoint.wait()
    assert [(one.rank, one.detail) for one in outcome.ranks] == [(2, ""), (3, "")]


async def test_a_rank_that_dies_ends_the_others(node, asked):
    first, second = (await run(node("die:1"), asked())).ranks
    assert (second.ended, second.exit_status) == (Ended.EXIT, -9)
    assert second.detail == "rank_died: rank 1 ended with signal SIGKILL, last heard: rank 1: die of 2"
    assert first.ended is Ended.STOPPED
    assert first.detail == "peer_ended: rank 0 ended because rank 1 ended with signal SIGKILL"


async def test_ranks_that_hang_end_at_the_limit_and_say_how_far_they_came(node, asked):
    request = asked(ranks=4, first_rank=2, unique_id=ID, members=("node-b", "node-a"), limit_seconds=5.0)
    outcome = await run(node("deaf"), request)
    assert [one.ended for one in outcome.ranks] == [Ended.DEADLINE] * 2
    said = outcome.ranks[1].detail
    assert said.startswith("rank_hung: rank 3 not done within ")
    assert said.endswith("s, last heard: rank 3: deaf of 4")


async def test_stopping_ends_ranks_that_ignore_being_told(node, asked, tmp_path: Path):
    endpoint = LocalGroupEndpoint(node("deaf"))
    await endpoint.start(asked())
    await endpoint.stop()
    outcome = await endpoint.wait()
    assert [(one.ended, one.exit_status is None or one.exit_status < 0) for one in outcome.ranks] == [
        (Ended.STOPPED, True)
    ] * 2
    assert outcome.ranks[0].detail == "stopped: rank 0 ended when told to"
    assert list((tmp_path / "bursts").iterdir()) == []


async def test_a_result_that_cannot_be_read_is_none(node, asked):
    outcome = await run(node("garbage"), asked())
    assert [(one.exit_status, one.seconds, one.wrong, one.detail) for one in outcome.ranks] == [
        (0, (), None, f"result_unreadable: rank {rank} left no result, one wanted") for rank in range(2)
    ]


async def test_a_log_without_end_is_cut(node, asked):
    outcome = await run(node("chatty"), asked())
    assert [len(one.debug_log) for one in outcome.ranks] == [LOG_LIMIT_BYTES] * 2


async def test_a_rank_that_failed_before_there_was_an_id_gives_the_reason(node, asked, tmp_path: Path):
    with pytest.raises(ProbeError) as raised:
        await LocalGroupEndpoint(node("no_gpu")).start(asked())
    assert raised.value.reason == "gpu_missing"
    assert raised.value.summary in {f"node-a: rank {rank}: no device found, one wanted" for rank in range(2)}
    assert list((tmp_path / "bursts").iterdir()) == []


async def test_ranks_that_make_no_id_are_ended(node, asked, tmp_path: Path):
    with pytest.raises(ProbeError) as raised:
        await LocalGroupEndpoint(node("no_id", id_limit_seconds=0.1)).start(asked())
    assert (raised.value.reason, raised.value.summary) == (
        "no_unique_id",
        "node-a: rank 0 made no unique id within 0.1 s, one wanted",
    )
    assert list((tmp_path / "bursts").iterdir()) == []


async def test_a_program_that_is_not_there_is_told_of(node, asked):
    with pytest.raises(ProbeError) as raised:
        await LocalGroupEndpoint(node(settings=BurstSettings(python="/no/python"))).start(asked())
    assert raised.value.reason == "rank_died"
    assert "/no/python" in raised.value.summary


async def test_cancelling_the_start_leaves_no_process(node, asked, tmp_path: Path):
    endpoint = LocalGroupEndpoint(node("no_id"))
    starting = asyncio.create_task(endpoint.start(asked()))
    while not list((tmp_path / "bursts").glob("*/nccl-1.log")):
        await asyncio.wait({starting}, timeout=0.02)
    starting.cancel()
    await asyncio.gather(starting, return_exceptions=True)
    assert list((tmp_path / "bursts").iterdir()) == []
    await endpoint.stop()


async def test_a_rank_that_cannot_be_started_leaves_none_of_the_others(node, asked, tmp_path: Path):
    made = node("hang")
    started = []

    class Exhausted:
        """A machine that starts one process and no more."""

        read = made.host.read

        async def start(self, command):
            if started:
                raise OSError("too many open files")
            started.append(await made.host.start(command))
            return started[0]

    with pytest.raises(OSError, match="too many open files"):
        await LocalGroupEndpoint(replace(made, host=Exhausted())).start(asked())
    assert (await started[0].wait()).ended is Ended.STOPPED
    assert list((tmp_path / "bursts").iterdir()) == []


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"processes": 2}, "2 processes"),
        ({"utilisation": 0.37}, "37% utilisation"),
        ({"memory_used_bytes": 60 << 30, "memory_bytes": 80 << 30}, "75% of its memory in use"),
        ({"processes": None, "utilisation": None}, "unknown use"),
    ],
)
async def test_a_gpu_that_somebody_uses_defers_the_burst(node, asked, changes: dict, found: str):
    one, *others = (await node().gpus()).gpus
    with pytest.raises(Refused) as raised:
        await LocalGroupEndpoint(node(gpus=(replace(one, **changes), *others))).start(asked())
    assert (raised.value.reason, raised.value.summary) == (
        "gpu_busy",
        f"node-a: {one.uuid} at {one.pci_address}: {found} found, an idle GPU wanted",
    )


async def test_too_few_gpus_are_said_before_anything_starts(node, asked):
    divided, *others = (await node().gpus()).gpus
    for gpus in ((), (replace(divided, mig=True), others[0])):
        with pytest.raises(ProbeError) as raised:
            await LocalGroupEndpoint(node(gpus=gpus)).start(asked())
        assert raised.value.reason == "gpu_missing"


async def test_waiting_for_what_was_never_started_is_an_error(node):
    with pytest.raises(ProbeError, match="no burst started, one needed"):
        await LocalGroupEndpoint(node()).wait()


def test_what_a_killed_process_left_is_removed_and_nothing_else(tmp_path: Path):
    for name in ("burst-abc", "evidence"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").touch()
    remove_left_over(tmp_path)
    assert [folder.name for folder in tmp_path.iterdir()] == ["evidence"]
