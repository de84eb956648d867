"""Runs of test pods are collected into samples, which outlive the process and begin anew with plan and boot."""

from dataclasses import replace

import pytest

from exporter.cluster.pod_allocations import PodAllocations
from exporter.evidence import EvidenceStore
from exporter.ledger import Ledger
from probes import Finding, Run, Status, Subject
from probes._pod_allocation import AllocationSample, SeenAllocation


class Hand:
    seconds = 1_000.0

    def now(self):
        return self.seconds


@pytest.fixture
def hand():
    return Hand()


@pytest.fixture
def ledger(tmp_path, hand):
    return Ledger(tmp_path / "ledger.json", EvidenceStore(tmp_path), hand.now)


def pod_run(gpu, *more, boot="boot", digest="plan", run_id="placement.allocated@pod"):
    facts = {"gpus": gpu, "hcas": "h0", "all_gpus": "g0,g1", "all_hcas": ""}
    whole = Finding(Subject(node="a", resource="allocation"), Status.PASS, "", "allocation: given", facts=facts)
    return Run("placement.allocated", run_id, "a", "pod", (whole, *more), 1.0, 2.0, digest, boot, "1")


def sample(*seen, pods=1, dull=0, boot="boot"):
    source = "placement.allocated"
    return AllocationSample(source, "plan", boot, ("g0", "g1"), (), seen, pods, dull, fresh_seconds=60.0)


def place(found):
    return {("a", "placement.allocated"): found}


async def test_pods_are_collected_and_told_of(ledger, hand):
    news = []
    allocations = PodAllocations(ledger, lambda: news.append(1))
    ledger.put(pod_run("g0"), fresh_seconds=60)
    hand.seconds += 5
    ledger.put(pod_run("g1"), fresh_seconds=60)
    seen = SeenAllocation(1_000.0, ("g0",), ("h0",)), SeenAllocation(1_005.0, ("g1",), ("h0",))
    assert allocations.of(["a", "b"], ["plan"]) == place(sample(*seen, pods=2))
    assert len(news) == 2


async def test_what_was_misplaced_or_untold_is_kept_as_sentences(ledger):
    far = Finding(Subject(node="a", resource="g0"), Status.FAIL, "too_far", "g0: far")
    dark = Finding(Subject(node="a", resource="g1"), Status.UNKNOWN, "numa_unknown", "g1: dark")
    allocations = PodAllocations(ledger, lambda: None)
    ledger.put(pod_run("g0", far, dark), fresh_seconds=60)
    seen = SeenAllocation(1_000.0, ("g0",), ("h0",), ("g0: far",), ("g1: dark",))
    assert allocations.of(["a"], ["plan"]) == place(sample(seen))


async def test_a_sample_outlives_the_process_with_the_run_that_carries_it(ledger, hand, tmp_path):
    first = PodAllocations(ledger, lambda: None)
    ledger.put(pod_run("g0"), fresh_seconds=60)
    facts = {"sample": first.of(["a"], ["plan"])["a", "placement.allocated"].as_text()}
    carrying = Finding(Subject(node="a"), Status.UNKNOWN, "alloc_sample_incomplete", "", facts=facts)
    ledger.put(Run("placement.allocations", "all", "a", "api", (carrying,), 1.0, 2.0, "plan", "", "1"))
    hand.seconds += 5
    ledger.put(pod_run("g1"), fresh_seconds=60)
    await ledger.save()
    again = Ledger(tmp_path / "ledger.json", EvidenceStore(tmp_path), hand.now)
    seen = SeenAllocation(1_000.0, ("g0",), ("h0",)), SeenAllocation(1_005.0, ("g1",), ("h0",))
    assert PodAllocations(again, lambda: None).of(["a"], ["plan"]) == place(sample(*seen, pods=2))


async def test_a_pods_word_counts_once_however_often_the_gate_begins_anew(ledger):
    ledger.put(pod_run("g0"), fresh_seconds=60)
    facts = {"sample": PodAllocations(ledger, lambda: None).of(["a"], ["plan"])["a", "placement.allocated"].as_text()}
    carrying = Finding(Subject(node="a"), Status.UNKNOWN, "alloc_sample_incomplete", "", facts=facts)
    ledger.put(Run("placement.allocations", "all", "a", "api", (carrying,), 1.0, 2.0, "plan", "", "1"))
    seen = SeenAllocation(1_000.0, ("g0",), ("h0",))
    assert PodAllocations(ledger, lambda: None).of(["a"], ["plan"]) == place(sample(seen, pods=1))


async def test_another_boot_begins_anew(ledger, hand):
    allocations = PodAllocations(ledger, lambda: None)
    ledger.put(pod_run("g0"), fresh_seconds=60)
    hand.seconds += 5
    ledger.put(pod_run("g1", boot="other"), fresh_seconds=60)
    seen = SeenAllocation(1_005.0, ("g1",), ("h0",))
    assert allocations.of(["a"], ["plan"]) == place(sample(seen, boot="other"))


async def test_what_pods_of_another_template_were_given_is_nobodys_any_more_and_pods_of_the_new_one_begin_anew(
    ledger, hand
):
    allocations = PodAllocations(ledger, lambda: None)
    ledger.put(pod_run("g0"), fresh_seconds=60, planned_as="old")
    hand.seconds += 5
    ledger.put(pod_run("g1", digest="plan-2"), fresh_seconds=60, planned_as="old")
    assert len(allocations.of(["a"], ["plan-3", "old"])["a", "placement.allocated"].seen) == 2, "of the same template"
    assert allocations.of(["a"], ["plan-2", "new"]) == {}
    hand.seconds += 5
    ledger.put(pod_run("g1", digest="plan-3"), fresh_seconds=60, planned_as="new")
    seen = SeenAllocation(1_010.0, ("g1",), ("h0",))
    assert allocations.of(["a"], ["plan-3", "new"]) == place(replace(sample(seen), plan_digest="new"))


async def test_a_nodes_agent_tells_of_no_allocation(ledger):
    allocations = PodAllocations(ledger, lambda: None)
    ledger.put(pod_run("g0", run_id="placement.allocated"))
    assert allocations.of(["a"], ["plan"]) == {}
