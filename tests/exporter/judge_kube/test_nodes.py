"""Nodes as people paste them: described, as JSON and YAML, as maps of Go, in pieces and with a terminal's dirt."""
# ruff: noqa: E501 (a pasted line stays one line)

import json
from typing import Any

import pytest

from exporter.judge import judge

DESCRIBED = """\
Name:               gpu-001
Roles:              worker
Labels:             kubernetes.io/hostname=gpu-001
                    nvidia.com/gpu.count=8
                    nvidia.com/gpu.replicas=1
Taints:             nvidia.com/gpu=present:NoSchedule
Unschedulable:      false
Conditions:
  Type             Status  LastHeartbeatTime                 Reason                       Message
  ----             ------  -----------------                 ------                       -------
  MemoryPressure   False   Mon, 30 Nov 2026 08:00:00 +0000   KubeletHasSufficientMemory   kubelet has memory
  Ready            True    Mon, 30 Nov 2026 08:00:00 +0000   KubeletReady                 kubelet is posting
Addresses:
  InternalIP:  10.0.0.11
Capacity:
  cpu:                        192
  memory:                     2113411648Ki
  nvidia.com/gpu:             8
  pods:                       110
  rdma/hca_shared_devices_a:  1k
Allocatable:
  cpu:                        191
  memory:                     2112411648Ki
  nvidia.com/gpu:             8
  pods:                       110
  rdma/hca_shared_devices_a:  1k
System Info:
  Kubelet Version:            v1.34.2
Allocated resources:
  (Total limits may be over 100 percent, i.e., overcommitted.)
  Resource                   Requests     Limits
  nvidia.com/gpu             8            8
  rdma/hca_shared_devices_a  1            1
"""


def node(allocatable: dict[str, Any], capacity: dict[str, Any] | None = None, **more: Any) -> str:
    status = {"capacity": capacity or allocatable, "allocatable": allocatable, **more}
    return json.dumps({"kind": "Node", "metadata": {"name": "n1"}, "status": status})


GOOD = {"cpu": "64", "nvidia.com/gpu": "8", "rdma/hca": "1k"}
YAML = """\
apiVersion: v1
kind: Node
metadata:
  name: n2
status:
  allocatable:
    cpu: "64"
    nvidia.com/gpu: "8"
    rdma/hca: 32k
  capacity:
    cpu: "64"
    nvidia.com/gpu: "8"
    rdma/hca: 32k
  conditions:
  - status: "True"
    type: Ready
"""
FAIL, UNKNOWN, PASS = "fail", "unknown", "pass"
COUNT_A = {"rdma/hca_shared_devices_a": {"capacity": 1000, "allocatable": 1000}}

INPUTS: list[tuple[str, str, str, str, dict[str, Any]]] = [
    ("described whole", DESCRIBED, PASS, "", {"name": "gpu-001", "rdma": COUNT_A, "gpu_allocatable": 8}),
    ("with carriage returns", DESCRIBED.replace("\n", "\r\n"), PASS, "", {"rdma": COUNT_A}),
    ("in colours", DESCRIBED.replace("Capacity", "\x1b[1;34mCapacity\x1b[0m"), PASS, "", {"rdma": COUNT_A}),
    (
        "not ready",
        DESCRIBED.replace("Ready            True ", "Ready            False"),
        FAIL,
        "node_not_ready",
        {"ready": "False"},
    ),
    (
        "kubelet silent",
        DESCRIBED.replace("Ready            True   ", "Ready            Unknown"),
        UNKNOWN,
        "evidence_stale",
        {},
    ),
    (
        "cordoned",
        DESCRIBED.replace("Unschedulable:      false", "Unschedulable:      true"),
        UNKNOWN,
        "node_unschedulable",
        {},
    ),
    (
        "devices unhealthy",
        DESCRIBED.replace("  rdma/hca_shared_devices_a:  1k\nSystem", "  rdma/hca_shared_devices_a:  0\nSystem"),
        FAIL,
        "rdma_resource_unhealthy",
        {"rdma": {"rdma/hca_shared_devices_a": {"capacity": 1000, "allocatable": 0}}},
    ),
    ("cut before RDMA", DESCRIBED[: DESCRIBED.index("  pods:")], UNKNOWN, "truncated", {"cut": True}),
    (
        "two nodes, one zero",
        DESCRIBED + DESCRIBED.replace("1k", "0").replace("gpu-001", "gpu-002"),
        FAIL,
        "rdma_resource_zero",
        {"nodes": 2},
    ),
    ("shares of cards", DESCRIBED.replace("replicas=1", "replicas=4"), PASS, "", {"gpu_count_may_be_virtual": True}),
    ("json", node(GOOD), PASS, "", {"valid_json": True, "rdma": {"rdma/hca": {"capacity": 1000, "allocatable": 1000}}}),
    (
        "one GPU unhealthy",
        node({**GOOD, "nvidia.com/gpu": "7"}, GOOD),
        FAIL,
        "gpu_resource_unhealthy",
        {"gpu_capacity": 8},
    ),
    ("no GPU at all", node({"cpu": "64", "rdma/hca": "1k"}), PASS, "", {"gpu_capacity": None}),
    ("json without RDMA", node({"cpu": "64", "nvidia.com/gpu": "8"}), FAIL, "rdma_resource_absent", {"rdma": {}}),
    ("a fraction", node({**GOOD, "rdma/hca": "500m"}), UNKNOWN, "unparsable_quantity", {}),
    ("more allocatable than there is", node(GOOD, {**GOOD, "rdma/hca": "8"}), UNKNOWN, "unparsable_quantity", {}),
    ("in the capacity alone", node({"cpu": "64", "nvidia.com/gpu": "8"}, GOOD), FAIL, "rdma_resource_absent", {}),
    ("no GPU of those named", node({**GOOD, "nvidia.com/gpu": "0"}), FAIL, "gpu_resource_zero", {"gpu_allocatable": 0}),
    ("GPUs under one of two names", node({**GOOD, "nvidia.com/gpu": "0", "nvidia.com/mig-1g.10gb": "7"}), PASS, "", {}),
    ("no GPU named", node({"cpu": "64", "rdma/hca": "1k"}), PASS, "", {"gpu_allocatable": None}),
    ("two lines of grep", "  rdma/hca:  1k\n  rdma/hca:  1k\n", PASS, "", {"gpu_allocatable": None}),
    ("fewer in one of two lines", "  rdma/hca:  0\n  rdma/hca:  8\n", FAIL, "rdma_resource_unhealthy", {}),
    ("zero in two lines of grep", "  rdma/hca: 0\n  rdma/hca: 0\n  rdma/hca  0  0\n", FAIL, "rdma_resource_zero", {}),
    ("one line of grep", '    rdma/hca: "8"\n', UNKNOWN, "allocatable_missing", {}),
    ("lines of two nodes", "rdma/hca: 8\nrdma/hca: 8\nrdma/hca: 8\nrdma/hca: 8\n", UNKNOWN, "unparsable", {}),
    ("numbers, not texts", node({"cpu": 64, "rdma/hca": 1000}), PASS, "", {}),
    (
        "functions of SR-IOV",
        node({"cpu": "64", "openshift.io/mlxnics": "16", "nvidia.com/gpu": "8"}),
        PASS,
        "",
        {},
    ),
    (
        "a name that may be anything",
        node({"cpu": "64", "openshift.io/pool7": "16", "nvidia.com/gpu": "8"}),
        UNKNOWN,
        "rdma_resource_unnamed",
        {},
    ),
    (
        "functions of a name that says so",
        node({"cpu": "64", "nvidia.com/sriov_rdma_vf": "16", "nvidia.com/gpu": "8"}),
        PASS,
        "",
        {"rdma": {"nvidia.com/sriov_rdma_vf": {"capacity": 16, "allocatable": 16}}, "gpu_allocatable": 8},
    ),
    ("a leftover beside", node({**GOOD, "rdma/old": "0"}), PASS, "", {}),
    (
        "a list",
        json.dumps({"kind": "List", "items": [json.loads(node(GOOD)), json.loads(node(GOOD))]}),
        PASS,
        "",
        {"nodes": 2},
    ),
    (
        "only allocatable as jsonpath prints it",
        json.dumps(GOOD),
        PASS,
        "",
        {"gpu_capacity": None, "gpu_allocatable": 8},
    ),
    (
        "only capacity",
        "$ kubectl get node n1 -o json | jq .status.capacity\n" + json.dumps(GOOD) + "\n",
        UNKNOWN,
        "allocatable_missing",
        {"gpu_capacity": 8, "gpu_allocatable": None},
    ),
    ("yaml", YAML, PASS, "", {"rdma": {"rdma/hca": {"capacity": 32000, "allocatable": 32000}}, "valid_json": False}),
    ("yaml cut in allocatable", YAML[: YAML.index("    rdma/hca")], UNKNOWN, "truncated", {}),
    ("yaml cut in a number", YAML[: YAML.index("k\n  capacity")], UNKNOWN, "truncated", {}),
    (
        "maps of Go",
        "capacity: map[cpu:64 memory:131Gi nvidia.com/gpu:8 rdma/hca:1k]\nallocatable: map[cpu:64 memory:131Gi nvidia.com/gpu:8 rdma/hca:0]\n",
        FAIL,
        "rdma_resource_unhealthy",
        {"rdma": {"rdma/hca": {"capacity": 1000, "allocatable": 0}}},
    ),
    ("a map of Go, cut", "allocatable: map[cpu:64 nvidia.com/gpu:8 rdma/hca:1", UNKNOWN, "truncated", {"rdma": {}}),
    (
        "driver loading",
        node(GOOD).replace(
            '"name": "n1"', '"name": "n1", "labels": {"network.nvidia.com/operator.mofed.wait": "true"}'
        ),
        UNKNOWN,
        "driver_wait_label",
        {},
    ),
    ("nothing of a node", "hello\n", UNKNOWN, "unparsable", {}),
    ("an empty text", "", UNKNOWN, "empty", {}),
    ("deep nonsense", "[" * 5000 + '{"a":' * 5000, UNKNOWN, "unparsable", {}),
    ("an alias bomb", "a: &a [x]\nkind: &b [*a,*a]\nspec: [*b,*b]\n", UNKNOWN, "unparsable", {}),
]


@pytest.mark.parametrize(("name", "text", "status", "reason", "values"), INPUTS, ids=[one[0] for one in INPUTS])
def test_a_node_is_judged_by_what_it_advertises(
    name: str, text: str, status: str, reason: str, values: dict[str, Any]
) -> None:
    answer = judge("k8s-node", text).as_json()
    assert (answer["status"], answer["reason"]) == (status, reason), answer["summary"]
    assert {key: answer["values"][key] for key in values} == values


@pytest.mark.parametrize(
    ("wanted", "status"), [("rdma/hca=1000", PASS), ("rdma/hca=1001", FAIL), ("rdma/hca_b=1", FAIL)]
)
def test_a_number_can_be_required_of_any_resource(wanted: str, status: str) -> None:
    assert judge("k8s-node", node(GOOD), [wanted]).status == status


def test_a_name_that_does_not_tell_is_rdma_when_it_is_required() -> None:
    text = node({"cpu": "64", "openshift.io/pool7": "16"})
    assert judge("k8s-node", text, ["openshift.io/pool7=16"]).status == PASS


def test_a_leftover_is_warned_of() -> None:
    assert judge("k8s-node", node({**GOOD, "rdma/old": "0"})).warnings == [
        "n1 rdma/old: zero beside others may be a leftover"
    ]


def test_of_several_nodes_each_row_has_its_own_verdict() -> None:
    without = {"cpu": "64", "nvidia.com/gpu": "8"}
    text = json.dumps({"kind": "List", "items": [json.loads(node(GOOD)), json.loads(node(without))]})
    rows = judge("k8s-node", text).as_json()["rows"]
    assert [(row["status"], row["reason"]) for row in rows] == [(PASS, ""), (FAIL, "rdma_resource_absent")]
