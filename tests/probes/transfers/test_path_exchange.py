import asyncio
from dataclasses import replace
from types import ModuleType

import pytest

from probes import End
from probes._endpoint import Ended, Outcome, Path, Refused, TestRequest, Tool, Unreachable
from probes._path import Exchange, exchange
from probes._path_counters import Allowance
from probes._path_repeats import judge_repeat

REQUEST = TestRequest(Tool.WRITE_BW, "", "", 65536, 200, 10.0)


def refused_path(ends: ModuleType, refusals: int) -> Path:
    refused = ends.played("write-bw-refused", "client", exit_status=1)
    waiting = ends.played("write-bw-good", "server", ended=Ended.STOPPED, exit_status=-15, stdout="")
    return ends.path_of(
        [*[refused] * refusals, ends.played("write-bw-good", "client")],
        [*[waiting] * refusals, ends.played("write-bw-good", "server")],
    )


async def test_a_refused_control_connection_is_tried_again(ends: ModuleType):
    path = refused_path(ends, 3)
    result = await exchange(path, REQUEST, (0, 0, 0))
    assert (len(path.client.asked), judge_repeat(result, path, Allowance()).problem) == (4, None)


async def test_a_control_connection_refused_to_the_end_is_unknown(ends: ModuleType):
    path = refused_path(ends, 4)
    result = await exchange(path, REQUEST, (0, 0, 0))
    problem = judge_repeat(result, path, Allowance()).problem
    assert problem is not None
    assert (len(path.client.asked), problem.status, problem.reason, problem.about) == (4, "unknown", "control_tcp", ())


async def test_the_other_end_is_ended_once_one_has_failed(ends: ModuleType):
    failed = ends.played("write-bw-memlock", "client", exit_status=1)
    path = ends.path_of([failed], [ends.played("write-bw-good", "server")])
    ended: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()

    async def wait() -> Outcome:
        return await ended

    async def stop() -> None:
        ended.set_result(ends.played("write-bw-good", "server", ended=Ended.STOPPED, exit_status=-15, stdout=""))

    path.server.wait, path.server.stop = wait, stop
    result = await exchange(path, REQUEST, (), after_failure_seconds=0)
    assert result == Exchange(REQUEST, failed, ended.result())
    problem = judge_repeat(result, path, Allowance()).problem
    assert problem is not None
    assert (problem.reason, problem.about) == ("memory_registration_failed", (End("node-b", "rxe0"),))


async def test_a_node_that_vanishes_during_the_test_is_unreachable(ends: ModuleType):
    path = ends.path_playing("write-bw-good")

    async def vanish() -> Outcome:
        raise Unreachable("node-a: gone")

    path.server.wait = vanish
    result = await exchange(path, REQUEST, ())
    problem = judge_repeat(result, path, Allowance()).problem
    assert problem is not None
    assert (problem.status, problem.reason, problem.about) == ("unknown", "unreachable", (End("node-a", "rxe0"),))


def test_an_output_cut_anywhere_never_passes_with_another_number(ends: ModuleType):
    path = ends.path_playing("write-bw-good")
    client, server = ends.played("write-bw-good", "client"), ends.played("write-bw-good", "server")
    whole = judge_repeat(Exchange(REQUEST, client, server), path, Allowance()).reading.value
    passing = 0
    for length in range(len(client.stdout)):
        cut = replace(client, stdout=client.stdout[:length])
        judged = judge_repeat(Exchange(REQUEST, cut, server), path, Allowance())
        if judged.problem is None:
            passing += 1
            assert judged.reading.value == whole
    # Only the closing rule may be missing.
    assert 0 < passing <= len("-" * 87) + 2


async def test_a_node_that_refuses_is_not_asked_again_and_the_other_end_is_stopped(ends: ModuleType):
    busy = Refused("node_busy", "node-b: 1 test ends running in this slot, at most 1 wanted")
    path = ends.path_of([busy], [ends.played("write-bw-good", "server")])
    with pytest.raises(Refused, match="1 test ends running"):
        await exchange(path, REQUEST)
    assert (len(path.client.asked), path.server.stopped) == (1, 1)


async def test_a_server_whose_client_could_not_connect_is_not_waited_for(ends: ModuleType):
    refused = ends.played("write-bw-refused", "client", exit_status=1)
    path = ends.path_of([refused], [ends.played("write-bw-good", "server", ended=Ended.STOPPED, exit_status=-15)])
    stopped = asyncio.Event()

    async def stop() -> None:
        stopped.set()

    async def wait() -> Outcome:
        await stopped.wait()
        return ends.played("write-bw-good", "server", ended=Ended.STOPPED, exit_status=-15)

    path.server.stop, path.server.wait = stop, wait
    async with asyncio.timeout(10):
        result = await exchange(path, REQUEST, (), after_failure_seconds=3600)
    assert (result.client, result.server and result.server.ended) == (refused, Ended.STOPPED)
