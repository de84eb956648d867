"""At any moment one gate leads at most, and after the end of one another leads in under 20 seconds."""

import asyncio
import re
from contextlib import asynccontextmanager

import pytest

from exporter.cluster.configuration import configure_by
from exporter.cluster.connection import Connection
from exporter.cluster.election import TERMS_BEGAN, Election, Leadership, Timing
from tests.exporter.cluster.conftest import HeldClock, settings_for, until, write_kubeconfig
from tests.exporter.cluster.fake_api import Fault

BASE = "/apis/coordination.k8s.io/v1/leases"
STEP_SECONDS = 0.5
PATIENT = Timing(request_seconds=60.0, release_seconds=60.0)


class Candidate:
    """One gate with its own connection and clock."""

    def __init__(self, folder, name, skew=0.0):
        self.clock = HeldClock(skew=skew)
        self.connection = Connection(configure_by(settings_for(folder), {}), self.clock.monotonic)
        self.told = []
        self.election = Election(self.connection, ("rdma-gate", "lease"), name, self.clock, self._changed, PATIENT)
        self.task = None

    def cut_off(self):
        """Let no request of this one reach the API any more."""

        async def unanswered(*arguments, **named):
            raise TimeoutError("cut off")

        self.connection.send = unanswered

    def _changed(self):
        self.told.append(self.election.leadership)

    @property
    def leads(self):
        return self.election.leadership.is_leader

    async def start(self):
        self.task = asyncio.create_task(self.election.run())
        await self.clock.idle()

    async def end(self):
        self.task.cancel()
        await asyncio.wait([self.task])


@pytest.fixture
async def candidate(api, tmp_path):
    write_kubeconfig(tmp_path, api.url)
    made = []

    def make(name, skew=0.0):
        made.append(Candidate(tmp_path, name, skew))
        return made[-1]

    yield make
    for one in made:
        if one.task:
            await one.end()
        await one.connection.close()


async def pass_seconds(seconds, *candidates):
    """Let time pass for all of them, in small steps; at no moment do two of them lead."""
    for _ in range(int(seconds / STEP_SECONDS)):
        for one in candidates:
            await one.clock.advance(STEP_SECONDS)
        assert sum(one.leads for one in candidates) <= 1


@asynccontextmanager
async def no_answers(api, text=""):
    fault = Fault(text, 503, times=10**6, message="down")
    api.faults.append(fault)
    yield
    fault.times = 0


def lease(api):
    return api.get(BASE, "lease", "rdma-gate")["spec"]


async def test_the_first_candidate_makes_the_lease_and_leads(api, candidate):
    a = candidate("a")
    await a.start()
    spec = lease(api)
    assert spec["holderIdentity"] == "a"
    assert spec["leaseDurationSeconds"] == 15
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", spec["renewTime"])
    assert a.election.leadership == Leadership(is_leader=True, term=spec["leaseTransitions"], holder="a")


async def test_a_second_candidate_waits_as_long_as_the_first_renews(api, candidate):
    a, b = candidate("a"), candidate("b")
    await a.start()
    await b.start()
    await pass_seconds(120, a, b)
    assert (a.leads, b.leads) == (True, False)
    assert b.election.leadership.holder == "a"


@pytest.mark.parametrize("skew", [-86400.0, 0.0, 86400.0])
async def test_after_a_leader_that_died_another_leads_in_under_20_seconds_whatever_the_clocks_say(api, candidate, skew):
    a, b = candidate("a"), candidate("b", skew)
    await a.start()
    await b.start()
    await pass_seconds(10, a, b)
    term = a.election.leadership.term
    a.cut_off()
    await a.end()
    seconds = 0.0
    while not b.leads:
        await b.clock.advance(STEP_SECONDS)
        seconds += STEP_SECONDS
    assert 10.0 < seconds < 20.0
    assert b.election.leadership == Leadership(is_leader=True, term=term + 1, holder="b")


async def test_a_leader_without_the_api_steps_down_before_another_can_take_over(api, candidate):
    a, b = candidate("a"), candidate("b")
    await a.start()
    await b.start()
    await pass_seconds(4, a, b)
    a.cut_off()
    await pass_seconds(11, a, b)
    assert (a.leads, b.leads) == (False, False)
    await pass_seconds(10, a, b)
    assert (a.leads, b.leads) == (False, True)
    assert a.told[-1].problem == "cut off"


async def test_a_process_that_was_stopped_for_a_while_does_not_lead_when_it_wakes(api, candidate):
    a = candidate("a")
    await a.start()
    a.clock.seconds += 60
    assert not a.leads


async def test_two_that_try_at_once_get_one_lease_through_a_409(api, candidate):
    a, b = candidate("a"), candidate("b")
    barrier, arrived = asyncio.Event(), []
    answer = api._write

    async def together(request, base, namespace):
        arrived.append(request)
        if len(arrived) == 2:
            barrier.set()
        await barrier.wait()
        return await answer(request, base, namespace)

    api._write = together
    await asyncio.gather(a.start(), b.start())
    assert sorted([a.leads, b.leads]) == [False, True]
    await pass_seconds(6, a, b)
    assert sorted([a.leads, b.leads]) == [False, True]


async def test_a_lease_that_is_given_back_is_taken_at_once_with_the_next_term(api, candidate):
    a, b = candidate("a"), candidate("b")
    await a.start()
    await b.start()
    term = a.election.leadership.term
    await a.end()
    assert lease(api)["holderIdentity"] == ""
    assert not a.leads
    await pass_seconds(2, b)
    assert b.election.leadership == Leadership(is_leader=True, term=term + 1, holder="b")


async def test_a_renewal_whose_answer_was_lost_does_not_keep_the_lease_from_being_given_back(api, candidate):
    a = candidate("a")
    await a.start()
    held = api.get(BASE, "lease", "rdma-gate")
    api.put(BASE, {**held, "metadata": dict(held["metadata"])})
    await a.end()
    assert lease(api)["holderIdentity"] == ""


async def test_a_failed_renewal_is_tried_again_and_the_leader_stays(api, candidate):
    a = candidate("a")
    await a.start()
    async with no_answers(api):
        await a.clock.advance(2)
        assert a.leads
        assert a.election.leadership.problem == "503 down"
    await a.clock.advance(2)
    assert a.election.leadership == Leadership(is_leader=True, term=lease(api)["leaseTransitions"], holder="a")


async def test_a_lease_that_was_deleted_begins_above_every_earlier_term(api, candidate):
    a = candidate("a")
    await a.start()
    term = a.election.leadership.term
    api.delete(BASE, "lease", "rdma-gate")
    await a.clock.advance(2)
    assert a.leads
    assert a.election.leadership.term > term
    assert lease(api)["leaseTransitions"] >= int(a.clock.now()) - TERMS_BEGAN


async def test_a_lease_that_somebody_prepared_without_a_holder_is_taken(api, candidate):
    api.put(BASE, {"metadata": {"name": "lease", "namespace": "rdma-gate", "labels": {"by": "helm"}}, "spec": {}})
    a = candidate("a")
    await a.start()
    assert a.election.leadership == Leadership(is_leader=True, term=1, holder="a")
    assert api.get(BASE, "lease", "rdma-gate")["metadata"]["labels"] == {"by": "helm"}


async def test_a_candidate_that_may_not_read_the_lease_says_so_and_does_not_lead(api, candidate):
    api.faults.append(Fault("leases", 403, times=10**6, message="leases is forbidden"))
    a = candidate("a")
    await a.start()
    assert a.election.leadership == Leadership(is_leader=False, term=0, holder="", problem="403 leases is forbidden")


async def test_changes_of_leader_are_told(api, candidate):
    a = candidate("a")
    await a.start()
    await until(lambda: a.told)
    assert [one.is_leader for one in a.told] == [True]
    await a.end()
    assert [one.is_leader for one in a.told] == [True, False]


async def test_the_holder_says_in_the_lease_where_it_answers_and_the_next_one_says_its_own(api, candidate):
    first, second = candidate("a"), candidate("b")
    first.election.url, second.election.url = "http://10.0.0.1:9842", "http://10.0.0.2:9842"
    await first.start()
    await second.start()
    assert (first.leads, second.election.leadership.url) == (True, "http://10.0.0.1:9842")
    first.election.url = ""
    await first.end()
    await pass_seconds(20, second)
    assert (second.leads, second.election.leadership.url) == (True, "http://10.0.0.2:9842")


async def test_a_holder_that_cannot_tell_its_address_leaves_nobody_elses_in_the_lease(api, candidate):
    first, second = candidate("a"), candidate("b")
    first.election.url = "http://10.0.0.1:9842"
    await first.start()
    await first.end()
    await second.start()
    await pass_seconds(20, second)
    assert (second.leads, second.election.leadership.url) == (True, "")
