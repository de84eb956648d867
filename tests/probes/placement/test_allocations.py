"""What pods were given in several rounds is judged together, until every exclusive device was in one."""

from dataclasses import replace

import pytest

from probes import Status
from probes._pod_allocation import AllocationSample, SeenAllocation, sample_of_text
from probes.placement.allocations import Probe

EMPTY = AllocationSample("placement.allocated", "plan", "boot", ("g0", "g1"), ("h0", "h1"), fresh_seconds=3600.0)
NOW = 100_000.0
DEFAULT = Probe()


def pod(at, gpus, hcas, **more):
    return SeenAllocation(at, gpus, hcas, **more)


async def judged(facts, sample, probe=DEFAULT, now=NOW):
    allocations = {("n1", "placement.allocated"): sample} if sample else {}
    (one,) = await probe.run(replace(facts.cluster(judged=("n1",)), allocations=allocations, now=now))
    return one


async def test_all_devices_seen_near_each_other_pass(facts):
    sample = EMPTY.with_pod(pod(NOW - 20, ("g0",), ("h0",))).with_pod(pod(NOW - 10, ("g1",), ("h1",)))
    one = await judged(facts, sample)
    assert (one.status, one.summary) == (
        Status.PASS,
        "allocations: 2 GPUs and 2 HCAs given in 2 test pods, all as near as planned",
    )
    assert sample_of_text(one.facts["sample"]) == sample


async def test_the_sample_is_incomplete_until_each_device_was_given(facts):
    one = await judged(facts, EMPTY.with_pod(pod(NOW, ("g0",), ("h0",))))
    assert (one.status, one.reason) == (Status.UNKNOWN, "alloc_sample_incomplete")
    assert one.summary == "allocations: 2 of 4 devices given in 1 test pods found, g1, h1 wanted too"


async def test_shared_hcas_need_not_be_seen_one_by_one(facts):
    one = await judged(facts, replace(EMPTY, hcas=()).with_pod(pod(NOW, ("g0", "g1"), ("h0",))))
    assert one.status is Status.PASS


async def test_as_many_pods_as_wanted_must_have_told(facts):
    whole = pod(NOW, ("g0", "g1"), ("h0", "h1"))
    assert (await judged(facts, EMPTY.with_pod(whole), Probe(at_least=2))).reason == "alloc_sample_incomplete"
    assert (await judged(facts, EMPTY.with_pod(whole).with_pod(whole), Probe(at_least=2))).status is Status.PASS


async def test_one_misplaced_allocation_fails_all_and_is_forgotten_in_time(facts):
    bad = pod(NOW - 3000, ("g0",), ("h1",), misplaced=("g0: nearest h1 at SYS found, within PXB wanted",))
    good = pod(NOW - 100, ("g0", "g1"), ("h0", "h1"))
    sample = EMPTY.with_pod(bad).with_pod(good)
    one = await judged(facts, sample)
    assert (one.status, one.reason) == (Status.FAIL, "alloc_misplaced")
    assert one.summary == "allocations: g0: nearest h1 at SYS found, within PXB wanted"
    assert (await judged(facts, sample, Probe(remember=2999.0))).status is Status.PASS


async def test_what_could_not_be_told_is_unknown(facts):
    whole = pod(NOW, ("g0", "g1"), ("h0", "h1"), untold=("g0: NUMA node -1 found, one wanted",))
    assert (await judged(facts, EMPTY.with_pod(whole))).reason == "alloc_not_told"


@pytest.mark.parametrize(("age", "reason"), [(3600.0, ""), (3601.0, "alloc_stale")])
async def test_a_sample_without_a_fresh_pod_is_stale(facts, age, reason):
    one = await judged(facts, EMPTY.with_pod(pod(NOW - age, ("g0", "g1"), ("h0", "h1"))))
    assert one.reason == reason


async def test_without_any_pod_nothing_is_known(facts):
    assert (await judged(facts, None)).reason == "alloc_no_pod"


def test_alike_allocations_stand_once_and_pods_that_bring_nothing_new_are_counted():
    sample = EMPTY.with_pod(pod(1, ("g0",), ("h0",))).with_pod(pod(2, ("g0",), ("h0",))).with_pod(pod(3, ("g0",), ()))
    assert [(one.at, one.gpus) for one in sample.seen] == [(2, ("g0",)), (3, ("g0",))]
    assert (sample.pods, sample.dull, sample.unseen) == (3, 2, ("g1", "h1"))
    assert sample.with_pod(pod(4, ("g1",), ())).dull == 0


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"seen": [3]}', '{"seen": [], "more": 1}'])
def test_a_text_that_is_no_sample_is_none(text):
    assert sample_of_text(text) is None


async def test_a_device_that_was_last_given_too_long_ago_is_wanted_again(facts):
    old, young = pod(NOW - 3000, ("g0",), ("h0",)), pod(NOW, ("g1",), ("h1",))
    sample = EMPTY.with_pod(old).with_pod(young)
    assert (await judged(facts, sample)).status is Status.PASS
    one = await judged(facts, sample, Probe(remember=2999.0))
    assert (one.status, one.reason) == (Status.UNKNOWN, "alloc_sample_incomplete")
