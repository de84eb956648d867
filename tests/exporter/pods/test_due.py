from dataclasses import replace

import pytest
from msgspec import structs

from exporter.assignment import ProbeSpec
from exporter.ledger import Record
from exporter.plan import Nodes, PlannedPods, Pool
from exporter.plan.pod_digest import pod_digest
from exporter.pods.course import Course, Patience, is_over
from exporter.pods.disrupted import counted
from exporter.pods.due import Sooner, able_nodes, due_nodes, free_nodes, room
from exporter.pods.held import Outstanding
from exporter.pods.labels import Mark, label_value
from exporter.pods.outstanding import outstanding_of
from exporter.pods.reports import is_of_pod
from probes import Finding, Run, Status, Subject
from probes._cluster import KubeNode
from probes._pod_allocation import AllocationSample
from probes._workloads import Condition, ContainerSpec, Pod, PodSpec

READY = {"Ready": Condition("True")}
NOW = 100000.0
POOL = Pool("h100", Nodes(), test_pods=PlannedPods("training", every_seconds=3600.0))


def run(node, status=Status.PASS, vantage="api", run_id="resources.test_pod"):
    finding = Finding(Subject(node=node), status, "", f"{node}: x")
    return Run("resources.test_pod", run_id, node, vantage, (finding,), 0.0, 0.0, "d", "", "0.1.0")


def record(node, age, status=Status.PASS, planned_as=""):
    found = Record(1, NOW - age, run(node, status), planned_as=planned_as)
    return {("resources.test_pod", "resources.test_pod", node): found}


def nodes(*names, **more):
    return {name: KubeNode(name, "u", conditions=READY, **more) for name in names}


def due(cluster, records):
    return due_nodes(POOL, able_nodes(["a", "b", "c"], cluster), records, plan_digest="d", now=NOW)


def test_what_was_never_tested_comes_before_what_was_tested_long_ago():
    records = {**record("a", 4000), **record("b", 9000)}
    assert due(nodes("a", "b", "c"), records) == ["c", "b", "a"]


def test_a_pod_that_passed_is_not_due_before_its_time_and_one_that_did_not_is_due_sooner():
    records = {**record("a", 700), **record("b", 700, Status.UNKNOWN), **record("c", 500, Status.FAIL)}
    assert due(nodes("a", "b", "c"), records) == ["b"]


def test_a_pod_that_another_waits_for_comes_soon_and_before_all_others_but_not_at_once():
    records = {**record("a", 59), **record("b", 61), **record("c", 4000)}
    found = due_nodes(POOL, ["a", "b", "c"], records, plan_digest="d", now=NOW, sooner=Sooner(awaited={"a", "b"}))
    assert found == ["b", "c"]


def test_a_pod_for_which_a_test_waits_that_has_not_passed_comes_as_one_that_did_not_pass_itself():
    records = {**record("a", 599), **record("b", 601), **record("c", 601)}
    assert due_nodes(POOL, ["a", "b", "c"], records, plan_digest="d", now=NOW, sooner=Sooner({"a", "b"})) == ["b"]


def test_a_pod_that_did_not_pass_before_its_node_was_visible_again_is_tried_soon():
    records = {**record("a", 61, Status.FAIL), **record("b", 59, Status.FAIL), **record("c", 61), **record("d", 599)}
    visible = dict.fromkeys("abc", NOW - 5) | {"d": NOW - 599}
    assert due_nodes(POOL, [*"abcd"], records, plan_digest="d", now=NOW, sooner=Sooner(visible=visible)) == ["a"]


def edited(records, **pods):
    pool = replace(POOL, test_pods=replace(POOL.test_pods, **pods))
    return due_nodes(pool, ["a", "b"], records, plan_digest="another", now=NOW)


def test_a_pod_is_due_at_once_where_the_last_one_was_of_another_template_and_not_where_the_plan_changed_beside_it():
    records = {**record("a", 5, planned_as=pod_digest(POOL)), **record("b", 9, Status.FAIL, pod_digest(POOL))}
    assert edited(records, every_seconds=7200.0, hold_seconds=60.0, at_once=4) == []
    assert edited(records, template={"spec": {"containers": [{"name": "train", "image": "other"}]}}) == ["b", "a"]


def test_a_pod_of_a_program_that_kept_no_word_of_its_template_counts_under_the_very_plan_that_made_it():
    assert due(nodes("a"), record("a", 5)) == []
    assert edited(record("a", 5)) == ["b", "a"]


def disrupted(times, reason="evicted"):
    """The record of the last of so many test pods in a row that were taken away."""
    last = None
    for _ in range(times):
        finding = counted(Finding(Subject(node="a"), Status.UNKNOWN, reason, "a: x"), last)
        last = Record(1, NOW - 61, replace(run("a"), findings=(finding,)))
    return last


@pytest.mark.parametrize(
    ("last", "wanted"),
    [
        (disrupted(1), ["a"]),
        (disrupted(2, "preempted"), ["a"]),
        (disrupted(3), []),
        (disrupted(4), []),
        (disrupted(1, "no_report"), []),
    ],
)
def test_after_a_pod_that_was_taken_away_the_next_comes_in_a_minute_but_not_the_third_time_in_a_row(last, wanted):
    records = {last.key: last}
    assert due(nodes("a"), records) == wanted
    assert due(nodes("a"), {last.key: structs.replace(last, received=NOW - 59)}) == []
    assert due(nodes("a"), {last.key: structs.replace(last, received=NOW - 600)}) == ["a"]


def test_a_pod_that_told_something_begins_the_count_of_those_taken_away_anew():
    found = counted(Finding(Subject(node="a"), Status.FAIL, "image_not_pulled", "a: x"), disrupted(2))
    between = Record(1, NOW, replace(run("a"), findings=(found,)))
    assert found.facts == {}
    assert counted(Finding(Subject(node="a"), Status.UNKNOWN, "evicted", "a: x"), between).facts == {
        "disrupted_in_a_row": "1"
    }


def collected(dull, reason="alloc_sample_incomplete", run_id="placement.allocations"):
    sample = AllocationSample("placement.allocated", "d", "", ("g0", "g1"), (), dull=dull)
    finding = Finding(Subject(node="a"), Status.UNKNOWN, reason, "", facts={"sample": sample.as_text()})
    found = Run("placement.allocations", run_id, "a", "api", (finding,), 0.0, 0.0, "d", "", "0.1.0")
    return {("placement.allocations", run_id, "a"): Record(1, NOW, found)}


@pytest.mark.parametrize(
    ("sample", "wanted"),
    [
        (collected(dull=2), ["a"]),
        (collected(dull=3), []),  # the last three pods brought nothing new
        (collected(dull=0, reason=""), []),
        (collected(dull=0, run_id="another"), []),
    ],
)
def test_a_pod_is_due_sooner_while_some_devices_were_in_none(sample, wanted):
    collecting = replace(POOL, probes=(ProbeSpec("placement.allocations", "placement.allocations"),))
    records = {**record("a", 700), **sample}
    assert due_nodes(collecting, ["a"], records, plan_digest="d", now=NOW) == wanted


def test_nodes_that_cannot_run_the_workload_now_are_left_alone():
    cluster = {**nodes("a", unschedulable=True), "b": KubeNode("b", "u", conditions={"Ready": Condition("False")})}
    assert due(cluster, {}) == []


def test_a_pool_without_test_pods_has_none_due():
    assert due_nodes(Pool("h100", Nodes()), ["a"], {}, plan_digest="d", now=NOW) == []


def test_there_is_room_for_what_the_plan_allows_and_never_beyond_the_hard_cap():
    assert room(PlannedPods("t", at_once=4), 1, 1) == 3
    assert room(PlannedPods("t", at_once=4), 5, 5) == 0
    assert room(PlannedPods("t", at_once=4), 0, 63) == 1
    assert room(PlannedPods("t", at_once=4), 0, 80) == 0


@pytest.mark.parametrize(
    ("there", "left", "wanted"),
    [
        ({}, [], ["a", "b"]),
        ({"a": "h100"}, [], ["b"]),
        ({"a": "h100"}, ["c"], []),  # c's pod is stuck in Terminating
        ({}, ["c"], ["a"]),
        ({}, ["c", "c"], []),
        ({}, ["a"], ["b"]),
        ({"x": "other"}, ["y"], ["a", "b"]),  # of another pool
        ({}, [label_value("long" * 30)], ["a"]),
    ],
)
def test_a_pod_that_does_not_end_counts_against_those_that_a_pool_may_have_at_once(there, left, wanted):
    pool = replace(POOL, test_pods=PlannedPods("training", at_once=2))
    assert free_nodes(pool, ["a", "b", "c", "long" * 30], ["a", "b"], there, left) == wanted


def pod(phase="Pending", node="", uid="u", gpus=8, **more):
    spec = PodSpec((ContainerSpec("train", "i", limits={"nvidia.com/gpu": gpus, "rdma/hca": 1}),))
    return Pod("training", f"pod-{uid}", uid, node=node, phase=phase, spec=spec, **more)


UNSCHEDULABLE = {"PodScheduled": Condition("False", "Unschedulable", "0/1 nodes are available: 1 Insufficient x.")}


@pytest.mark.parametrize(
    ("course", "wanted"),
    [
        (Course(pod(), waited=31.0), False),
        (Course(pod(conditions=UNSCHEDULABLE), waited=29.0), False),
        (Course(pod(conditions=UNSCHEDULABLE), waited=30.0), True),
        (Course(pod(node="a"), waited=300.0), False),
        (Course(pod("Running", "a"), waited=599.0, started=True), False),
        (Course(pod("Running", "a"), waited=600.0, started=True), True),
        (Course(pod("Running", "a"), waited=70.0, started=True, reported_at=20.0), False),
        (Course(pod("Running", "a"), waited=80.0, started=True, reported_at=20.0), True),
        (Course(pod("Failed", "a")), True),
        (Course(pod("Running", "a"), vanished=True), True),
        (Course(pod("Running", "a", deleting=True), waited=5.0, started=True), True),
    ],
)
def test_a_pod_is_over_when_nothing_more_is_to_come_of_it(course, wanted):
    assert is_over(course, Patience(), limit_seconds=600.0, hold_seconds=60.0) is wanted


def test_outstanding_pods_count_once_and_those_that_ended_hold_nothing():
    there = [pod(uid="a"), pod(uid="a"), pod(uid="b", gpus=2), pod("Failed", uid="c")]
    assert outstanding_of(there) == Outstanding(3, 10)


def test_the_oldest_pod_and_the_first_that_has_to_be_gone_are_told():
    mark = Mark("id", "owner", "gate", "a", 1_700.0)
    marked = PodSpec(labels=mark.labels)
    there = [
        Pod("t", "a", "a", created=1_100.0, spec=marked),
        Pod("t", "b", "b", created=1_000.0, spec=PodSpec(labels={**mark.labels, "rdma-gate.io/expires": "1900"})),
        Pod("t", "c", "c", created=1_200.0, spec=PodSpec(labels={"rdma-gate.io/expires": "soon"})),
    ]
    assert outstanding_of(there) == Outstanding(3, 0, 1_000.0, 1_700.0)
    assert outstanding_of([]) == Outstanding(0, 0)


def test_a_pods_key_speaks_for_runs_from_inside_it_and_for_no_others():
    assert is_of_pod(run("a", vantage="pod", run_id="access.ports@pod"))
    assert not is_of_pod(run("a", vantage="host", run_id="access.ports@pod"))
    assert not is_of_pod(run("a", vantage="pod", run_id="access.ports"))
