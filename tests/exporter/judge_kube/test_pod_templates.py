"""What makes pods of several kinds is judged by each kind that has devices."""

import json
from typing import Any

import pytest

from exporter.judge import judge

GOOD = {"nvidia.com/gpu": 8, "rdma/hca_a": 1}


def template(limits: dict[str, int]) -> dict[str, Any]:
    security = {"capabilities": {"add": ["IPC_LOCK"]}}
    container = {"name": "c", "resources": {"limits": limits}, "securityContext": security}
    metadata = {"annotations": {"k8s.v1.cni.cncf.io/networks": "rdma-a"}}
    return {"metadata": metadata, "spec": {"containers": [container]}}


def manifest(kind: str, spec: dict[str, Any]) -> str:
    return json.dumps({"kind": kind, "metadata": {"name": "train"}, "spec": spec})


def replicas(key: str, **roles: dict[str, int]) -> dict[str, Any]:
    return {key: {role: {"replicas": 2, "template": template(limits)} for role, limits in roles.items()}}


NO_RDMA = {"nvidia.com/gpu": 8}
PASSED, NOT_ASKED = ("pass", ""), ("fail", "no_rdma_resource")
MPI, TORCH = "mpiReplicaSpecs", "pytorchReplicaSpecs"


@pytest.mark.parametrize(
    ("text", "verdict", "names"),
    [
        (manifest("MPIJob", replicas(MPI, Launcher={}, Worker=GOOD)), PASSED, ["train-worker"]),
        (
            manifest("MPIJob", replicas(MPI, Launcher={}, Worker=NO_RDMA)),
            NOT_ASKED,
            ["train-worker"],
        ),
        (
            manifest("MPIJob", {"runLauncherAsWorker": True, **replicas(MPI, Launcher={}, Worker=GOOD)}),
            NOT_ASKED,
            ["train-launcher", "train-worker"],
        ),
        (manifest("MPIJob", replicas(MPI, Launcher={})), NOT_ASKED, ["train-launcher"]),
        (
            manifest("PyTorchJob", replicas(TORCH, Master=GOOD, Worker=GOOD)),
            PASSED,
            ["train-master", "train-worker"],
        ),
        (
            manifest("PyTorchJob", replicas(TORCH, Master=NO_RDMA, Worker=GOOD)),
            NOT_ASKED,
            ["train-master", "train-worker"],
        ),
        (
            manifest("JobSet", {"replicatedJobs": [{"name": "w", "template": {"spec": {"template": template(GOOD)}}}]}),
            PASSED,
            ["train-w"],
        ),
        (
            manifest("LeaderWorkerSet", {"leaderWorkerTemplate": {"workerTemplate": template(GOOD)}}),
            PASSED,
            ["train-worker"],
        ),
    ],
)
def test_each_kind_of_pod_is_judged(text: str, verdict: tuple[str, str], names: list[str]) -> None:
    found = judge("k8s-pod", text)
    assert (found.status, found.reason) == verdict
    assert [one["name"] for one in found.rows or (found.values,)] == names


def test_a_manifest_in_yaml_is_read_as_well() -> None:
    text = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: train}
spec:
  pytorchReplicaSpecs:
    Worker:
      template:
        spec:
          containers:
          - name: c
            securityContext: {capabilities: {add: [IPC_LOCK]}}
            resources: {limits: {nvidia.com/gpu: 8, rdma/hca_a: 1}}
"""
    found = judge("k8s-pod", text)
    assert (found.status, found.values["kind"], found.values["rdma"]) == ("pass", "PyTorchJob", {"rdma/hca_a": 1})


def test_a_job_that_is_cut_never_passes() -> None:
    text = manifest("PyTorchJob", replicas(TORCH, Master=GOOD, Worker=GOOD))
    assert {judge("k8s-pod", text[:cut]).status for cut in range(len(text))} <= {"unknown", "fail"}


def test_what_has_no_pod_template_is_said_by_its_kind() -> None:
    found = judge("k8s-pod", manifest("TrainJob", {"runtimeRef": {"name": "torch"}}))
    assert (found.status, found.reason) == ("unknown", "unparsable")
    wanted = "a Pod or what has the template of one wanted"
    assert found.summary == f"k8s-pod: TrainJob without a pod template found, {wanted}"
