"""Events and pod states as people paste them, each with its class; capacity is short only where the text says so."""
# ruff: noqa: E501 (a pasted line stays one line)

import json
from typing import Any

import pytest

from exporter.judge import judge

ADMISSION = "  Warning  UnexpectedAdmissionError  5s  kubelet  Allocate failed due to {}, which is unexpected\n"
SANDBOX = "  Warning  FailedCreatePodSandBox  3s (x4 over 40s)  kubelet  Failed to create pod sandbox: {}\n"
UNAVAILABLE = "requested number of devices unavailable for nvidia.com/gpu. Requested: 8, Available: 7"
PREEMPTED = (
    "0/4 nodes are available: 1 node(s) had untolerated taint {node-role.kubernetes.io/control-plane: }, "
    "3 Insufficient rdma/hca_a. preemption: 0/4 nodes are available: 1 Preemption is not helpful for scheduling, "
    "3 No preemption victims found for incoming pod."
)
ITEM = {"kind": "Event", "type": "Warning", "reason": "FailedScheduling", "message": PREEMPTED, "count": 17}
NO = {"capacity_shortage": False, "retryable_by_scheduler": False}

INPUTS: list[tuple[str, str, str, dict[str, Any]]] = [
    (
        "devices unavailable",
        ADMISSION.format(UNAVAILABLE),
        "admission_error",
        {
            "cause": "devices_unavailable",
            "requested": 8,
            "available": 7,
            "resource": "nvidia.com/gpu",
            "capacity_shortage": True,
        },
    ),
    (
        "nothing healthy",
        ADMISSION.format("no healthy devices present; cannot allocate unhealthy devices rdma/hca_a"),
        "admission_error",
        {"cause": "no_healthy_devices", "resource": "rdma/hca_a", **NO},
    ),
    (
        "unregistered",
        ADMISSION.format("cannot allocate unregistered device rdma/hca_a"),
        "admission_error",
        {"cause": "unregistered_device", **NO},
    ),
    (
        "lost since",
        ADMISSION.format("previously allocated devices are no longer healthy; cannot allocate unhealthy devices a.b/c"),
        "admission_error",
        {"cause": "no_healthy_devices", **NO} | {"cause": "devices_lost"},
    ),
    (
        "connection refused",
        ADMISSION.format("rpc error: code = Unavailable desc = connection error: dial unix x.sock: connection refused"),
        "device_plugin_crashed",
        NO,
    ),
    (
        "refused by the plugin",
        ADMISSION.format("rpc error: code = Unknown desc = invalid allocation request with 2 devices: more than one"),
        "plugin_rpc_failed",
        NO,
    ),
    (
        "GPU lost",
        ADMISSION.format("PreStartContainer rpc failed with err: GPU is lost"),
        "plugin_rpc_failed",
        {"cause": "gpu_lost"},
    ),
    (
        "topology in an event",
        "Warning  TopologyAffinityError  1s  kubelet  Resources cannot be allocated with Topology locality\n",
        "topology_rejected",
        NO,
    ),
    (
        "out of GPUs",
        "Warning  OutOfnvidia.com/gpu  2s  kubelet  Node didn't have enough resource: nvidia.com/gpu, requested: 1, used: 8, capacity: 8\n",
        "out_of_resource",
        {"resource": "nvidia.com/gpu", "capacity_shortage": True, "retryable_by_scheduler": False},
    ),
    (
        "JSON",
        json.dumps({"kind": "List", "items": [ITEM]}),
        "insufficient_resource",
        {
            "nodes_total": 4,
            "count": 17,
            "resource": "rdma/hca_a",
            "sum_exceeds_nodes": False,
            "retryable_by_scheduler": True,
        },
    ),
    ("the message alone", f"`{PREEMPTED}`", "insufficient_resource", {"causes_sum": 4, "nodes_total": 4}),
    (
        "a table",
        f"LAST SEEN   TYPE      REASON             OBJECT      MESSAGE\n12s         Warning   FailedScheduling   pod/train   {PREEMPTED}\n",
        "insufficient_resource",
        {"reason": "FailedScheduling", "nodes_total": 4},
    ),
    (
        "taint alone is no shortage",
        "Warning FailedScheduling 1s default-scheduler 0/2 nodes are available: 2 node(s) had taint {gpu: yes}, that the pod didn't tolerate.\n",
        "taint",
        {"causes": {"had taint {gpu: yes}, that the pod didn't tolerate": 2}, "capacity_shortage": False},
    ),
    (
        "affinity alone is no shortage",
        "Warning FailedScheduling 1s default-scheduler 0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector.\n",
        "node_affinity",
        {"capacity_shortage": False, "retryable_by_scheduler": True},
    ),
    (
        "claims",
        "Warning FailedScheduling 1s default-scheduler 0/3 nodes are available: 3 cannot allocate all claims. still not schedulable\n",
        "dra_claim_unallocatable",
        {"causes": {"cannot allocate all claims": 3}, "capacity_shortage": False},
    ),
    (
        "wrapped lines",
        "  Warning  FailedScheduling  4s  default-scheduler  0/6 nodes are available:\n    3 node(s) were unschedulable, 6 Insufficient\n    nvidia.com/gpu.\n",
        "insufficient_resource",
        {"causes": {"were unschedulable": 3, "Insufficient nvidia.com/gpu": 6}},
    ),
    (
        "another scheduler",
        "Warning  FailedScheduling  1s  volcano  0/5 nodes are unavailable: 5 Insufficient nvidia.com/gpu.\n",
        "insufficient_resource",
        {"nodes_total": 5},
    ),
    (
        "no free address",
        SANDBOX.format(
            'plugin type="multus" failed: [default/train:sriov-net]: no IP addresses available in range set'
        ),
        "cni_attach_failed",
        {"cause": "ipam_exhausted", "count": 4, **NO},
    ),
    (
        "network not there",
        SANDBOX.format(
            'cannot find a network-attachment-definition (sriov-a) in namespace (ml): network-attachment-definitions "sriov-a" not found'
        ),
        "cni_attach_failed",
        {"cause": "network_missing"},
    ),
    (
        "no such CNI",
        SANDBOX.format('failed to find plugin "rdma" in path [/opt/cni/bin]'),
        "cni_attach_failed",
        {"cause": "cni_binary_missing"},
    ),
    ("no runtime", SANDBOX.format('no runtime for "nvidia" is configured'), "runtime_handler_missing", {}),
    (
        "device file gone",
        '  Warning  Failed  2s  kubelet  Error: failed to generate container: error gathering device information while adding custom device "/dev/infiniband/uverbs5": no such file or directory\n',
        "device_injection_failed",
        NO,
    ),
    (
        "CDI",
        "  Warning  Failed  2s  kubelet  Error: failed to create containerd task: CDI device injection failed: unresolvable CDI devices nvidia.com/gpu=all\n",
        "cdi_unresolved",
        NO,
    ),
    (
        "GPU runtime",
        "  Warning  Failed  2s  kubelet  Error: OCI runtime create failed: nvidia-container-cli: initialization error: driver not loaded\n",
        "gpu_runtime_failed",
        {},
    ),
    (
        "the status of a pod in YAML",
        "status:\n  phase: Failed\n  reason: UnexpectedAdmissionError\n  message: 'Pod was rejected: Allocate failed due to no healthy devices present; cannot allocate unhealthy devices nvidia.com/gpu, which is unexpected'\n",
        "admission_error",
        {"phase": "Failed", "cause": "no_healthy_devices", "resource": "nvidia.com/gpu"},
    ),
    (
        "a container that waits",
        json.dumps(
            {
                "status": {
                    "phase": "Pending",
                    "containerStatuses": [
                        {
                            "state": {
                                "waiting": {
                                    "reason": "CreateContainerConfigError",
                                    "message": "endpoint not found in cache for a registered resource: rdma/hca",
                                }
                            }
                        }
                    ],
                }
            }
        ),
        "plugin_gone",
        {},
    ),
    (
        "limits",
        'Error creating: Pod "x" is invalid: spec.containers[0].resources.limits: Required value: Limit must be set for non overcommitable resources\nWarning  FailedCreate  1s  job-controller  Error creating: Limit must be set for non overcommitable resources\n',
        "res_limit_missing",
        {"stage": "create"},
    ),
    (
        "pod security",
        'Warning  FailedCreate  1s  job-controller  Error creating: pods "t" is forbidden: violates PodSecurity "restricted:latest": privileged\n',
        "admission_psa_denied",
        {},
    ),
    (
        "quota",
        'Warning  FailedCreate  1s  job-controller  Error creating: pods "t" is forbidden: exceeded quota: gpu\n',
        "quota_exceeded",
        {},
    ),
    (
        "the last one counts",
        f"  Warning  FailedScheduling  9m  default-scheduler  {PREEMPTED}\n  Normal  Scheduled  8m  default-scheduler  Assigned\n"
        + ADMISSION.format("rpc error: code = Unavailable desc = error reading from server: EOF"),
        "device_plugin_crashed",
        {"events": 2, **NO},
    ),
]


@pytest.mark.parametrize(("name", "text", "reason", "values"), INPUTS, ids=[one[0] for one in INPUTS])
def test_an_event_is_given_its_class(name: str, text: str, reason: str, values: dict[str, Any]) -> None:
    answer = judge("events", text).as_json()
    assert (answer["status"], answer["reason"]) == ("fail", reason), answer["summary"]
    assert {key: answer["values"][key] for key in values} == values


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("  Normal  Scheduled  1s  default-scheduler  Successfully assigned default/x to gpu-001\n", "no_failure_seen"),
        ("", "unparsable"),
        ("Warning  UnexpectedAdmissionErr", "unparsable"),
    ],
)
def test_no_failure_is_no_pass(text: str, reason: str) -> None:
    found = judge("events", text)
    assert (found.status, found.reason) == ("unknown", reason)


SCHEDULED = "  Normal   Scheduled  {}  default-scheduler  Successfully assigned default/x to gpu-001\n"
LACK = "  Warning  FailedScheduling  {}  default-scheduler  0/3 nodes are available: 3 Insufficient rdma/hca.\n"
LOOP = "  Warning  BackOff  2m (x10 over 5m)  kubelet  Back-off restarting failed container c\n"
STARTED = "  Normal   Started  1s (x6 over 5m)  kubelet  Started container c\n"
ADMITTED_LATER = f"{ADMISSION.format('no healthy devices present')}{SCHEDULED.format('1s')}{STARTED}"


@pytest.mark.parametrize(
    ("text", "status", "reason"),
    [
        (LACK.format("5m") + SCHEDULED.format("1m"), "unknown", "recovered"),
        (SCHEDULED.format("1m") + LACK.format("5m"), "unknown", "recovered"),
        (SCHEDULED.format("5m") + LACK.format("1m"), "fail", "insufficient_resource"),
        (LACK.format("<unknown>") + SCHEDULED.format("<unknown>"), "unknown", "recovered"),
        (LOOP + STARTED, "fail", "container_failed"),
        (LACK.format("9m") + SCHEDULED.format("8m") + LOOP + STARTED, "fail", "container_failed"),
        (ADMITTED_LATER, "fail", "admission_error"),
        (
            "5m  Warning  FailedScheduling  pod/a  0/3 nodes are available: 3 Insufficient rdma/hca.\n"
            "1m  Normal  Scheduled  pod/b  Successfully assigned default/b to gpu-001\n",
            "fail",
            "insufficient_resource",
        ),
    ],
)
def test_a_refusal_that_the_pod_came_past_is_no_failure_now(text: str, status: str, reason: str) -> None:
    found = judge("events", text)
    assert (found.status, found.reason) == (status, reason), found.summary


def test_events_as_objects_are_told_apart_by_their_times_and_pods() -> None:
    def event(kind: str, reason: str, at: str, pod: str) -> dict[str, Any]:
        message = "0/3 nodes are available: 3 Insufficient rdma/hca."
        return {
            "type": kind,
            "reason": reason,
            "message": message,
            "lastTimestamp": at,
            "involvedObject": {"name": pod},
        }

    lack = event("Warning", "FailedScheduling", "2026-01-01T10:00:00Z", "a")
    later, other = (event("Normal", "Scheduled", "2026-01-01T10:05:00Z", pod) for pod in ("a", "b"))
    assert judge("events", json.dumps({"items": [later, lack]})).reason == "recovered"
    assert judge("events", json.dumps({"items": [lack, other]})).reason == "insufficient_resource"


@pytest.mark.parametrize(
    "message",
    [
        'Failed   1s  kubelet  Failed to pull image "x": rpc error: code = NotFound',
        "Failed   1s  kubelet  Error: ErrImagePull",
        'BackOff  1s  kubelet  Back-off pulling image "x"',
    ],
)
def test_an_image_that_is_not_there_is_no_fault_of_a_plugin(message: str) -> None:
    assert judge("events", f"  Warning  {message}\n").reason == "image_not_pulled"
