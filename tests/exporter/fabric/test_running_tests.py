import asyncio
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from exporter.fabric.guarded import GuardedEndpoint
from probes import ProbeError
from probes._endpoint import Ended, Ready, Refused, TestRequest, Unreachable

READY = Ready("::ffff:192.0.2.1", 1, 20001, 1024, "Ethernet")


async def test_a_test_starts_is_waited_for_and_given_back(node: Any, request_of_client: TestRequest):
    started = await node.tests.start(request_of_client, node.lease)
    assert started.ready == READY
    assert node.ends[0].started == [request_of_client]
    assert node.guard.tests_outstanding == 1
    assert await node.tests.wait(started.id, 0) is None
    node.ends[0].end()
    outcome = await node.tests.wait(started.id, 10)
    assert (outcome.ended, outcome.stdout, outcome.detail) == (Ended.EXIT, "out", "")
    assert node.guard.tests_outstanding == 0
    assert await node.tests.wait(started.id, 10) == outcome


async def test_a_refused_test_starts_nothing(node: Any, request_of_client: TestRequest):
    node.guard.pause("ana")
    with pytest.raises(Refused) as raised:
        await node.tests.start(request_of_client, node.lease)
    assert (raised.value.reason, node.ends) == ("paused", [])


async def test_a_test_that_cannot_start_gives_its_place_back(node: Any, request_of_client: TestRequest):
    node.start_error = ProbeError("tool_missing", "node-b: ib_write_bw not found on the path, it is needed")
    with pytest.raises(ProbeError):
        await node.tests.start(request_of_client, node.lease)
    assert node.guard.tests_outstanding == 0


async def test_pausing_ends_running_tests_at_the_next_look(node: Any, request_of_client: TestRequest):
    started = await node.tests.start(request_of_client, node.lease)
    looks = asyncio.Event()

    async def sleep(_seconds: float) -> None:
        looks.set()
        await asyncio.sleep(0)

    supervisor = asyncio.create_task(node.tests.supervise(sleep))
    await looks.wait()
    assert node.guard.tests_outstanding == 1
    node.guard.pause("ana")
    outcome = await node.tests.wait(started.id, 10)
    supervisor.cancel()
    assert (outcome.ended, outcome.detail, node.guard.tests_outstanding) == (Ended.STOPPED, "paused", 0)


@pytest.mark.parametrize("reason", ["gate_lost", "tests_disabled"])
async def test_tests_end_when_the_gate_is_lost_or_the_plan_forbids_them(
    node: Any, clock: Any, request_of_client: TestRequest, reason: str
):
    started = await node.tests.start(request_of_client, node.lease)
    if reason == "gate_lost":
        clock.advance(11)
    else:
        budget = msgspec.structs.replace(node.assignment.budget, tests_enabled=False)
        node.assignment = msgspec.structs.replace(node.assignment, budget=budget)
    supervisor = asyncio.create_task(node.tests.supervise(lambda _seconds: asyncio.sleep(0)))
    outcome = await asyncio.shield(node.tests.running._entries[started.id].task)
    supervisor.cancel()
    assert (outcome.ended, outcome.detail) == (Ended.STOPPED, reason)


async def test_the_end_of_the_process_ends_its_tests(node: Any, request_of_client: TestRequest):
    started = await node.tests.start(request_of_client, node.lease)
    supervisor = asyncio.create_task(node.tests.supervise(lambda _seconds: asyncio.sleep(0)))
    await asyncio.sleep(0)
    supervisor.cancel()
    await asyncio.gather(supervisor, return_exceptions=True)
    assert (await node.tests.wait(started.id, 10)).detail == "shutdown"


async def test_a_pause_while_the_tool_starts_is_not_missed(node: Any, request_of_client: TestRequest):
    class SlowEnd:
        stopped = False

        async def start(self, _test: TestRequest) -> Ready:
            node.guard.pause("ana")
            return READY

        async def stop(self) -> None:
            self.stopped = True

    end = SlowEnd()
    node.tests._endpoint_for = lambda _hca: end
    with pytest.raises(Refused) as raised:
        await node.tests.start(request_of_client, node.lease)
    assert (raised.value.reason, end.stopped, node.guard.tests_outstanding) == ("paused", True, 0)


async def test_an_unknown_id_is_a_key_error_and_stopping_it_is_nothing(node: Any):
    with pytest.raises(KeyError):
        await node.tests.wait("none", 0)
    await node.tests.stop("none")


async def test_old_outcomes_are_forgotten_but_running_tests_are_not(node: Any, request_of_client: TestRequest):
    budget = msgspec.structs.replace(node.assignment.budget, tests_per_node=2)
    node.assignment = msgspec.structs.replace(node.assignment, budget=budget)
    running = await node.tests.start(request_of_client, node.lease)
    second = node.held("lease2")
    for number in range(70):
        started = await node.tests.start(replace(request_of_client, iterations=10 + number), second)
        node.ends[-1].end()
        await node.tests.wait(started.id, 10)
    assert await node.tests.wait(running.id, 0) is None
    assert len(node.tests.running._entries) == 66


async def test_a_gate_in_the_same_process_is_held_to_the_same_guard(node: Any, request_of_client: TestRequest):
    end = GuardedEndpoint("node-b", "mlx5_0", node.tests, node.lease)
    with pytest.raises(Unreachable, match="no test started, one needed"):
        await end.wait()
    assert await end.start(request_of_client) == READY
    await end.stop()
    assert (await end.wait()).ended is Ended.STOPPED
    node.guard.pause("ana")
    with pytest.raises(Refused):
        await end.start(request_of_client)
