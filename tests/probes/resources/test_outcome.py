"""What became of a pod: capacity, admission, topology and start are never taken for each other."""

import pytest

from probes._workloads import Condition, ContainerState, Event, Pod
from probes.resources._outcome import REASONS, Outcome, classify, outcome_of
from probes.resources._outcome_rules import RULES, Stage
from probes.resources._scheduling import CAUSES, read_refusal

LACK = "0/6 nodes are available: 3 node(s) didn't match node selector, 6 Insufficient nvidia.com/gpu."
REBOOT = (
    "Allocate failed due to no healthy devices present; "
    "cannot allocate unhealthy devices rdma/hca_a, which is unexpected"
)


def pod(phase: str = "Pending", **more) -> Pod:
    return Pod("ml", "p", "u", phase=phase, **more)


def event(reason: str, message: str, last: float = 1.0, **more) -> Event:
    return Event("Pod", "ml", "p", reason, message, more.pop("uid", "u"), warning=True, last=last, **more)


def test_a_refusal_by_the_kubelet_is_final_and_no_lack():
    assert outcome_of(pod("Failed", reason="UnexpectedAdmissionError", message=REBOOT)) == Outcome(
        "admission_error", Stage.ADMISSION, REBOOT, "UnexpectedAdmissionError", "no_healthy_devices", "rdma/hca_a"
    )


def test_topology_is_no_lack_though_the_scheduler_found_none_before():
    one = pod("Failed", reason="TopologyAffinityError", message="Resources cannot be allocated with Topology locality")
    found = outcome_of(one, [event("FailedScheduling", LACK)])
    assert (found.code, found.shortage, found.retried) == ("topology_rejected", False, False)


def test_the_condition_goes_before_events():
    one = pod(conditions={"PodScheduled": Condition("False", "Unschedulable", LACK)})
    found = outcome_of(one, [event("FailedCreatePodSandBox", "multus failed", 9.0)])
    assert (found.code, found.shortage, found.retried, found.resource) == (
        "insufficient_resource",
        True,
        True,
        "nvidia.com/gpu",
    )


def test_of_events_the_last_of_this_pod_counts():
    events = [
        event("FailedScheduling", LACK, 1.0),
        event("FailedCreatePodSandBox", "Multus: failed to set up network", 9.0),
        event("TopologyAffinityError", "x", 10.0, uid="of another pod"),
    ]
    found = outcome_of(pod(), events)
    assert (found.code, found.stage, found.shortage) == ("cni_attach_failed", Stage.START, False)


def test_a_container_that_cannot_be_created_tells_by_its_message():
    message = 'error gathering device information while adding custom device "/dev/infiniband/uverbs5": no such file'
    state = ContainerState("c", waiting="CreateContainerError", message=message)
    assert outcome_of(pod(containers=(state,))).code == "device_injection_failed"


@pytest.mark.parametrize(
    "one",
    [
        pod("Running"),
        pod("Succeeded"),
        pod("Pending"),
        pod("Pending", containers=(ContainerState("c", waiting="ContainerCreating"),)),
    ],
)
def test_nothing_said_is_no_outcome(one):
    assert outcome_of(one) is None


def test_a_failed_pod_whose_reason_is_not_known_is_said_so():
    found = outcome_of(pod("Failed", reason="Strange", message="no idea"))
    assert (found.code, found.sentence) == ("unclassified", "Failed: Strange no idea")


@pytest.mark.parametrize(
    ("message", "causes", "kinds"),
    [
        (
            LACK,
            {"didn't match node selector": 3, "Insufficient nvidia.com/gpu": 6},
            ("insufficient_resource", "node_affinity"),
        ),
        ("0/1 nodes are available: 1 Too many pods.", {"Too many pods": 1}, ("too_many_pods",)),
        (
            "0/3 nodes are available: 1 node(s) had untolerated taint {a: b}, 2 node(s) didn't match pod anti-affinity "
            "rules. preemption: 0/3 nodes are available: 3 Preemption is not helpful for scheduling.",
            {"had untolerated taint {a: b}": 1, "didn't match pod anti-affinity rules": 2},
            ("taint", "pod_affinity"),
        ),
        ("0/2 nodes are available: 2 Insufficient cpu, 2 Insuff", {"Insufficient cpu": 2}, ("insufficient_resource",)),
        ("0/0 nodes are available: .", {}, ()),
    ],
)
def test_the_schedulers_causes_are_counted_apart(message, causes, kinds):
    found = read_refusal(message)
    assert (found.causes, found.kinds) == (causes, kinds)


def test_an_ordinary_resource_does_not_hide_the_device_that_lacks():
    assert (
        classify("FailedScheduling", "0/2 nodes are available: 2 Insufficient cpu, 1 Insufficient rdma/a.").resource
        == "rdma/a"
    )


def test_a_reason_that_is_no_refusal_is_none():
    assert classify("Started", "Started container train") is None


def test_every_code_of_the_tables_has_an_owner():
    assert {rule.code for rule in RULES} | {code for code, _ in CAUSES} <= REASONS.keys()


@pytest.mark.parametrize(
    ("reason", "message", "cause"),
    [
        ("AppArmor", 'Cannot enforce AppArmor: profile "rdma" is not loaded', "apparmor"),
        (
            "CreateContainerError",
            'cannot load seccomp profile "/var/lib/kubelet/seccomp/rdma.json": open: no such file or directory',
            "seccomp",
        ),
    ],
)
def test_a_node_without_the_pods_security_profile_is_told_from_a_container_that_fails(reason, message, cause):
    found = classify(reason, message)
    assert (found.code, found.cause, found.stage) == ("security_profile_missing", cause, Stage.START)
