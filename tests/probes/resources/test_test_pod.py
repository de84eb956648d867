import pytest

from probes import Finding, Status, Subject
from probes._workloads import Condition, ContainerState, Event, Pod
from probes.resources.test_pod import REASONS, PodLife, Probe, judge

PSA = 'pods "x" is forbidden: violates PodSecurity "restricted:latest": allowPrivilegeEscalation != false'
RBAC = 'pods is forbidden: User "gate" cannot create resource "pods" in API group "" in the namespace "training"'
NO_ROOM = "0/2 nodes are available: 1 Insufficient nvidia.com/gpu, 1 node(s) didn't satisfy plugin(s) [NodeAffinity]."


def pod(phase="Pending", node="gpu-001", reason="", message="", **more):
    return Pod("training", "rdma-gate-test-x", "uid", node=node, phase=phase, reason=reason, message=message, **more)


KILLED = ContainerState("train", terminated="Error", exit_status=143)


def taken(by, **more):
    """A pod whose containers were ended because of that."""
    target = Condition("True", by, f"{by}: told by the API")
    return pod("Failed", conditions={"DisruptionTarget": target}, containers=(KILLED,), **more)


def unscheduled(message):
    return pod(node="", conditions={"PodScheduled": Condition("False", "Unschedulable", message)})


def said(life):
    found = judge(life)
    return found.status.value, found.reason, found.summary


def life(found=None, **more):
    return PodLife("gpu-001", pod=found, **{"seconds": 12.4, **more})


async def test_a_pod_that_reported_passes_with_the_time_it_took():
    (found,) = await Probe().run(life(pod("Running"), started=True, reported=True))
    assert (found.subject, found.status) == (Subject("gpu-001"), Status.PASS)
    assert found.summary == "gpu-001: a test pod was scheduled, started and has reported in 12 s"


@pytest.mark.parametrize(
    ("given", "status", "reason"),
    [
        (life(refusal=PSA, refusal_status=403), "fail", "admission_psa_denied"),
        (life(refusal='exceeded quota: gpus, requested: "8"', refusal_status=403), "fail", "quota_exceeded"),
        (life(refusal="status unknown for quota: new", refusal_status=403), "unknown", "quota_not_counted"),
        (life(refusal='admission webhook "kueue" denied it', refusal_status=400), "fail", "admission_webhook_denied"),
        (life(refusal="spec.containers: Invalid value", refusal_status=422), "fail", "pod_refused"),
        (life(refusal=RBAC, refusal_status=403), "unknown", "rbac_denied"),
        (life(refusal="the server is overloaded", refusal_status=429), "unknown", "api_unreachable"),
        (life(refusal="etcd is away", refusal_status=500), "unknown", "api_unreachable"),
        (life(refusal="ServerDisconnectedError"), "unknown", "api_unreachable"),
        (life(withheld=("not_representative", "hostNetwork found")), "unknown", "not_representative"),
        (life(pod("Running", node="gpu-002"), reported=True), "fail", "wrong_node"),
        (life(unscheduled(NO_ROOM)), "unknown", "insufficient_resource"),
        (life(unscheduled(NO_ROOM), known=frozenset({"nvidia.com/gpu"})), "unknown", "insufficient_resource"),
        (life(unscheduled(NO_ROOM), known=frozenset({"amd.com/gpu"})), "fail", "resource_name_unknown"),
        (life(pod(), vanished=True), "unknown", "evicted"),
        (life(pod("Failed", deleting=True, containers=(KILLED,))), "unknown", "evicted"),
        (life(pod("Failed", reason="Evicted", message="low on memory")), "unknown", "evicted"),
        (life(pod("Failed", reason="Preempting", message="critical pod")), "unknown", "preempted"),
        (life(taken("PreemptionByScheduler")), "unknown", "preempted"),
        (life(taken("EvictionByEvictionAPI")), "unknown", "evicted"),
        (life(taken("DeletionByTaintManager"), vanished=True), "unknown", "evicted"),
        (life(taken("TerminationByKubelet", reason="Terminated", message="node shutdown")), "unknown", "evicted"),
        (life(taken("TerminationByKubelet"), reported=True), "pass", ""),
        (life(pod(node="")), "unknown", "never_started"),
        (life(pod()), "unknown", "never_started"),
        (life(pod("Running"), started=True), "unknown", "no_report"),
        (life(pod("Failed", reason="DeadlineExceeded"), started=True), "unknown", "no_report"),
    ],
)
def test_what_became_of_it_has_one_reason_and_a_lack_of_capacity_or_of_rights_is_no_fault_of_the_node(
    given, status, reason
):
    assert said(given)[:2] == (status, reason)
    assert not reason or reason in REASONS


def test_who_took_a_pod_away_is_told_by_its_condition_and_not_by_how_its_containers_ended():
    assert said(life(taken("PreemptionByScheduler")))[2] == (
        "gpu-001: PreemptionByScheduler: told by the API found, a pod that may stay wanted"
    )
    returned = {"DisruptionTarget": Condition("False", "PreemptionByScheduler", "")}
    assert said(life(pod("Failed", conditions=returned, containers=(KILLED,))))[1] == "runner_cannot_start"


def test_what_went_wrong_on_the_way_of_a_pod_that_came_through_is_told():
    events = [
        Event("Pod", "training", "p", "FailedMount", "no such Secret", warning=True),
        Event("Pod", "training", "p", "FailedMount", "no such Secret yet ", warning=True),
        Event("Pod", "training", "p", "Pulled", "image"),
    ]
    found = judge(life(pod("Running"), started=True, reported=True, events=tuple(events)))
    assert (found.status, dict(found.facts)) == (Status.PASS, {"warnings": "FailedMount: no such Secret yet"})
    assert "FailedMount: no such Secret" in found.evidence[1].text


def test_the_apis_own_sentence_is_in_the_finding():
    assert said(life(refusal=PSA, refusal_status=403))[2] == f"gpu-001: {PSA} found, a pod of the template wanted"


def test_a_container_that_ended_by_itself_could_not_be_used_and_its_words_are_kept():
    ended = ContainerState("train", terminated="Error", exit_status=127, message="libc.so.6: not found")
    found = judge(life(pod("Failed", containers=(ended,))))
    assert (found.status, found.reason) == (Status.UNKNOWN, "runner_cannot_start")
    assert found.summary == (
        "gpu-001: container train that ended with Error, exit status 127: libc.so.6: not found found, "
        "a runner that starts wanted"
    )


def test_an_event_tells_where_the_status_does_not():
    event = Event(
        "Pod", "training", "rdma-gate-test-x", "FailedCreatePodSandBox", "multus: no such NAD", "uid", warning=True
    )
    found = judge(life(pod(), events=(event,)))
    assert (found.status, found.reason) == (Status.FAIL, "cni_attach_failed")
    assert found.evidence[1].text == "FailedCreatePodSandBox: multus: no such NAD"


def test_a_pod_that_does_not_go_away_is_not_passed_over():
    running = pod("Running")
    assert said(life(running, reported=True, left_over=True)) == (
        "unknown",
        "pod_left_over",
        "gpu-001: pod training/rdma-gate-test-x that is still there found, none after its deletion wanted",
    )
    assert isinstance(judge(life(running, left_over=True)), Finding)
    assert "is still there" in said(life(running, left_over=True))[2]
