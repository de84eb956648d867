"""Pods as people paste them: manifests, objects with their status, descriptions, and networks alone."""
# ruff: noqa: E501 (a pasted line stays one line)

import json
from typing import Any

import pytest

from exporter.judge import judge

FAIL, UNKNOWN, PASS = "fail", "unknown", "pass"
STATUS = "k8s.v1.cni.cncf.io/network-status"
POD = """\
apiVersion: v1
kind: Pod
metadata:
  name: train
  annotations:
    k8s.v1.cni.cncf.io/networks: rdma-a@net1,ml/rdma-b
spec:
  containers:
  - name: train
    image: example.com/train:1
    securityContext:
      capabilities:
        add: ["IPC_LOCK"]
    resources:
      limits:
        nvidia.com/gpu: 8
        rdma/hca_a: 1
      requests:
        nvidia.com/gpu: 8
        rdma/hca_a: 1
"""
DESCRIBED = """\
Name:             train-0
Namespace:        ml
Node:             gpu-001/10.0.0.11
Status:           Pending
Annotations:      k8s.v1.cni.cncf.io/networks: rdma-a
Containers:
  train:
    Image:      example.com/train:1
    Limits:
      cpu:             8
      nvidia.com/gpu:  8
      rdma/hca_a:      1
    Requests:
      cpu:             8
      nvidia.com/gpu:  8
      rdma/hca_a:      1
Conditions:
  Type           Status
  PodScheduled   True
Events:
"""
SANDBOX = '  Warning  FailedCreatePodSandBox  3s (x4 over 40s)  kubelet  Failed to create pod sandbox: failed to find plugin "rdma" in path\n'


RUNNING = DESCRIBED.replace("Pending", "Running")
ATTACHED = RUNNING.replace(
    "rdma-a\nContainers",
    """rdma-a
                  k8s.v1.cni.cncf.io/network-status:
                    [{
                        "name": "k8s",
                        "ips": ["10.1.0.4"],
                        "default": true
                    },{
                        "name": "ml/rdma-a",
                        "interface": "net1",
                        "ips": ["10.2.0.4"],
                        "device-info": {"type": "pci", "pci": {"pci-address": "0000:1a:00.2", "rdma-device": "mlx5_1"}}
                    }]
Containers""",
)
REQUEST = "k8s.v1.cni.cncf.io/networks"


LOST = {"name": "rdma/hca_a", "resources": [{"resourceID": "0000:1a:00.2", "health": "Unhealthy"}]}


def networks(*secondary: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"name": "k8s", "ips": ["10.1.0.4"], "default": True, "dns": {}}, *secondary]


def net(name: str, ip: str, device: str = "mlx5_1") -> dict[str, Any]:
    pci = {"pci-address": "0000:1a:00.2", "rdma-device": device} if device else {}
    info = {"device-info": {"type": "pci", "pci": pci}} if device else {}
    return {"name": f"ml/{name}", "interface": name, "ips": [ip], "dns": {}, **info}


def asking(name: str, resource: str) -> dict[str, Any]:
    return {"name": name, "resources": {"limits": {resource: 1}}}


def pod(status: dict[str, Any], **annotations: str) -> str:
    limits = {"nvidia.com/gpu": "1", "rdma/hca_a": "1"}
    security = {"capabilities": {"add": ["CAP_IPC_LOCK"]}}
    container = {"name": "c", "resources": {"limits": limits}, "securityContext": security}
    metadata = {"name": "p", "annotations": annotations}
    return json.dumps({"kind": "Pod", "metadata": metadata, "spec": {"containers": [container]}, "status": status})


INPUTS: list[tuple[str, str, str, str, dict[str, Any]]] = [
    (
        "a good manifest",
        POD,
        PASS,
        "",
        {"gpu": 8, "rdma": {"rdma/hca_a": 1}, "ipc_lock": True, "networks": ["rdma-a@net1", "ml/rdma-b"]},
    ),
    (
        "a job around it",
        "kind: Job\nmetadata: {name: j}\nspec:\n  template:\n"
        + "".join(f"    {line}\n" for line in POD.splitlines()[2:]),
        PASS,
        "",
        {"kind": "Job", "gpu": 8},
    ),
    ("no lock", POD.replace("IPC_LOCK", "NET_RAW"), UNKNOWN, "no_ipc_lock", {"reasons": ["no_ipc_lock"]}),
    ("no network asked for", POD.replace("networks:", "other:"), PASS, "", {"reasons": ["no_network_annotation"]}),
    (
        "privileged",
        POD.replace("capabilities:", "privileged: true\n      capabilities:"),
        UNKNOWN,
        "not_representative",
        {"privileged": True},
    ),
    ("no RDMA", POD.replace("        rdma/hca_a: 1\n", ""), FAIL, "no_rdma_resource", {"rdma": {}}),
    (
        "request and limit differ",
        POD.replace("nvidia.com/gpu: 8", "nvidia.com/gpu: 4", 1),
        FAIL,
        "res_req_limit_mismatch",
        {},
    ),
    ("a fraction", POD.replace("rdma/hca_a: 1", "rdma/hca_a: 500m"), FAIL, "res_not_integer", {}),
    (
        "requests alone",
        POD.replace("      limits:\n        nvidia.com/gpu: 8\n        rdma/hca_a: 1\n", ""),
        FAIL,
        "res_limit_missing",
        {},
    ),
    (
        "in two containers",
        json.dumps({"spec": {"containers": [asking("a", "nvidia.com/gpu"), asking("b", "rdma/x")]}}),
        FAIL,
        "res_split_containers",
        {},
    ),
    ("a wide quantity", POD.replace("rdma/hca_a: 1", "rdma/hca_a: 1k"), PASS, "", {"rdma": {"rdma/hca_a": 1000}}),
    (
        "described, pending",
        DESCRIBED + SANDBOX,
        FAIL,
        "cni_attach_failed",
        {"gpu": 8, "rdma": {"rdma/hca_a": 1}, "ipc_lock": None},
    ),
    ("described, networks of which nothing is told", RUNNING, UNKNOWN, "network_status_missing", {}),
    ("described, nothing wrong", ATTACHED, PASS, "", {"gpu": 8, "networks": ["rdma-a"], "reasons": []}),
    ("described, cut", DESCRIBED[: DESCRIBED.index("Conditions")], UNKNOWN, "truncated", {"cut": True}),
    (
        "refused for topology",
        pod(
            {
                "phase": "Failed",
                "reason": "TopologyAffinityError",
                "message": "Resources cannot be allocated with Topology locality",
            }
        ),
        FAIL,
        "topology_rejected",
        {"capacity_shortage": False, "retryable_by_scheduler": False},
    ),
    (
        "pending for lack",
        pod(
            {
                "phase": "Pending",
                "conditions": [
                    {
                        "type": "PodScheduled",
                        "status": "False",
                        "reason": "Unschedulable",
                        "message": "0/2 nodes are available: 2 Insufficient rdma/hca_a.",
                    }
                ],
            }
        ),
        FAIL,
        "insufficient_resource",
        {"capacity_shortage": True, "retryable_by_scheduler": True},
    ),
    (
        "running again",
        pod({"phase": "Running", "containerStatuses": [{"state": {"running": {}}}]}),
        PASS,
        "",
        {"phase": "Running"},
    ),
    (
        "attached",
        pod({"phase": "Running"}, **{STATUS: json.dumps(networks(net("net1", "10.2.0.4")))}),
        PASS,
        "",
        {"rdma_device": "mlx5_1", "interface": "net1"},
    ),
    (
        "the old key",
        pod(
            {"phase": "Running"},
            **{f"{STATUS}".replace("network-", "networks-"): json.dumps(networks(net("net1", "10.2.0.4")))},
        ),
        PASS,
        "",
        {"pci": "0000:1a:00.2"},
    ),
    (
        "no device-info",
        json.dumps(networks(net("net1", "10.2.0.4", ""))),
        UNKNOWN,
        "device_info_missing",
        {"secondary_networks": 1},
    ),
    (
        "one address twice",
        json.dumps(networks(net("net1", "10.2.0.4"), net("net2", "10.2.0.4"))),
        FAIL,
        "ipam_duplicate",
        {"secondary_networks": 2},
    ),
    (
        "two rails",
        json.dumps(networks(net("net1", "10.2.0.4"), net("net2", "10.2.0.5", "mlx5_2"))),
        PASS,
        "",
        {"secondary_networks": 2},
    ),
    ("only the default network", json.dumps(networks()), FAIL, "no_secondary_network", {"secondary_networks": 0}),
    ("networks cut", json.dumps(networks(net("net1", "10.2.0.4")), indent=1)[:-6], UNKNOWN, "truncated", {}),
    ("a cut pod", pod({"phase": "Pending"})[:-30], UNKNOWN, "truncated", {"cut": True}),
    (
        "a claim instead",
        "spec:\n  containers:\n  - name: a\n    resources:\n      claims:\n      - name: nic\n    securityContext: {capabilities: {add: [IPC_LOCK]}}\n  hostNetwork: true\n",
        UNKNOWN,
        "claim_not_shown",
        {"host_network": True},
    ),
    ("RDMA beside a claim", POD.replace("      limits:", "      claims: [{name: gpu}]\n      limits:"), PASS, "", {}),
    (
        "none of it",
        POD.replace("rdma/hca_a: 1", "rdma/hca_a: 0"),
        FAIL,
        "no_rdma_resource",
        {"rdma": {"rdma/hca_a": 0}},
    ),
    (
        "one network of two",
        pod({"phase": "Running"}, **{REQUEST: "a,b", STATUS: json.dumps(networks(net("net1", "10.2.0.4")))}),
        FAIL,
        "secondary_network_missing",
        {"networks": ["a", "b"]},
    ),
    (
        "no network of one",
        pod({"phase": "Running"}, **{REQUEST: "a", STATUS: json.dumps(networks())}),
        FAIL,
        "secondary_network_missing",
        {"secondary_networks": 0},
    ),
    (
        "a device that its plugin holds for unhealthy",
        pod({"phase": "Running", "containerStatuses": [{"allocatedResourcesStatus": [LOST]}]}),
        FAIL,
        "device_unhealthy",
        {},
    ),
    ("described, running after a refusal", ATTACHED + SANDBOX, PASS, "", {}),
    ("described, pending without a reason", DESCRIBED, UNKNOWN, "pod_pending", {"phase": "Pending"}),
    ("failed for what nobody knows", pod({"phase": "Failed", "reason": "Strange"}), FAIL, "pod_failed", {}),
    (
        "running, one container in a loop",
        pod({"phase": "Running", "containerStatuses": [{"state": {"waiting": {"reason": "CrashLoopBackOff"}}}]}),
        FAIL,
        "container_failed",
        {},
    ),
    ("nothing", "hello\n", UNKNOWN, "unparsable", {}),
]


@pytest.mark.parametrize(("name", "text", "status", "reason", "values"), INPUTS, ids=[one[0] for one in INPUTS])
def test_a_pod_is_judged_by_what_it_asks_for_and_what_became_of_it(
    name: str, text: str, status: str, reason: str, values: dict[str, Any]
) -> None:
    answer = judge("k8s-pod", text).as_json()
    assert (answer["status"], answer["reason"]) == (status, reason), answer["summary"]
    assert {key: answer["values"][key] for key in values} == values
