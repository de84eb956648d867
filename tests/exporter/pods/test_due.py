import pytest

from exporter.ledger import Record
from exporter.plan import Nodes, PlannedPods, Pool
from exporter.pods.course import Course, Patience, is_over
from exporter.pods.due import due_nodes, room
from exporter.pods.outstanding import Outstanding, outstanding_of
from exporter.pods.reports import is_of_pod
from probes import Finding, Run, Status, Subject
from probes._cluster import KubeNode
from probes._workloads import Condition, ContainerSpec, Pod, PodSpec

READY = {"Ready": Condition("True")}
NOW = 100000.0
POOL = Pool("h100", Nodes(), test_pods=PlannedPods("training", every_seconds=3600.0))


def run(node, status=Status.PASS, vantage="api", run_id="resources.test_pod"):
    finding = Finding(Subject(node=node), status, "", f"{node}: x")
    return Run("resources.test_pod", run_id, node, vantage, (finding,), 0.0, 0.0, "d", "", "0.1.0")


def record(node, age, status=Status.PASS):
    return {("resources.test_pod", "resources.test_pod", node): Record(1, NOW - age, run(node, status))}


def nodes(*names, **more):
    return {name: KubeNode(name, "u", conditions=READY, **more) for name in names}


def due(cluster, records):
    return due_nodes(POOL, ["a", "b", "c"], cluster, records, now=NOW)


def test_what_was_never_tested_comes_before_what_was_tested_long_ago():
    records = {**record("a", 4000), **record("b", 9000)}
    assert due(nodes("a", "b", "c"), records) == ["c", "b", "a"]


def test_a_pod_that_passed_is_not_due_before_its_time_and_one_that_did_not_is_due_sooner():
    records = {**record("a", 700), **record("b", 700, Status.UNKNOWN), **record("c", 500, Status.FAIL)}
    assert due(nodes("a", "b", "c"), records) == ["b"]


def test_nodes_that_cannot_run_the_workload_now_are_left_alone():
    cluster = {**nodes("a", unschedulable=True), "b": KubeNode("b", "u", conditions={"Ready": Condition("False")})}
    assert due(cluster, {}) == []


def test_a_pool_without_test_pods_has_none_due():
    assert due_nodes(Pool("h100", Nodes()), ["a"], nodes("a"), {}, now=NOW) == []


def test_there_is_room_for_what_the_plan_allows_and_never_beyond_the_hard_cap():
    assert room(PlannedPods("t", at_once=4), 1, 1) == 3
    assert room(PlannedPods("t", at_once=4), 5, 5) == 0
    assert room(PlannedPods("t", at_once=4), 0, 63) == 1
    assert room(PlannedPods("t", at_once=4), 0, 80) == 0


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
    ],
)
def test_a_pod_is_over_when_nothing_more_is_to_come_of_it(course, wanted):
    assert is_over(course, Patience(), limit_seconds=600.0, hold_seconds=60.0) is wanted


def test_outstanding_pods_count_once_and_those_that_ended_hold_nothing():
    there = [pod(uid="a"), pod(uid="a"), pod(uid="b", gpus=2), pod("Failed", uid="c")]
    assert outstanding_of(there) == Outstanding(3, 10)
    assert outstanding_of([]) == Outstanding(0, 0)


def test_a_pods_key_speaks_for_runs_from_inside_it_and_for_no_others():
    assert is_of_pod(run("a", vantage="pod", run_id="access.ports@pod"))
    assert not is_of_pod(run("a", vantage="host", run_id="access.ports@pod"))
    assert not is_of_pod(run("a", vantage="pod", run_id="access.ports"))
