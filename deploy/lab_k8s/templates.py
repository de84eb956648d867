"""The workload's template is changed, as a person changes it in the gate's ConfigMap."""

import time
from typing import Any

import yaml

from deploy.lab_k8s import images
from deploy.lab_k8s.cluster import Cluster
from deploy.lab_k8s.gates import PODS
from deploy.lab_k8s.installed import CORE, NAMESPACE, PLAN, RESOURCE, plan_files


def ask_unknown(cluster: Cluster) -> None:
    """A typing error in the workload's manifest."""
    _ask(cluster, {"limits": {"rdma/hcb": "1"}})


def ask_too_much(cluster: Cluster) -> None:
    """One more than there is."""
    _ask(cluster, {"limits": {RESOURCE: "9"}})


def ask_unequally(cluster: Cluster) -> None:
    """Extended resources cannot be overcommitted."""
    _ask(cluster, {"requests": {RESOURCE: "1"}, "limits": {RESOURCE: "2"}})


def use_bare_image(cluster: Cluster) -> None:
    """An image that was built without any RDMA library."""
    _change_container(cluster, {"image": images.WORKLOAD})


def ask_as_planned(cluster: Cluster) -> None:
    """The manifest as it is in this checkout; what pods of it told counts again."""
    _put_template(cluster, plan_files()["job.yaml"])


def _ask(cluster: Cluster, resources: dict[str, Any]) -> None:
    _change_container(cluster, {"resources": resources})


def have_new_pods(cluster: Cluster) -> None:
    """A template that differs in nothing that matters brings new test pods at once."""
    _change_container(cluster, {"env": [{"name": "AGAIN", "value": str(time.time())}]})


def _change_container(cluster: Cluster, changed: dict[str, Any]) -> None:
    job = yaml.safe_load(plan_files()["job.yaml"])
    job["spec"]["template"]["spec"]["containers"][0] |= changed
    _put_template(cluster, yaml.safe_dump(job))


def _put_template(cluster: Cluster, text: str) -> None:
    cluster.api.patch(f"{CORE}/{NAMESPACE}/configmaps/{PLAN}", {"data": {"job.yaml": text}})
    # The kubelet brings a changed ConfigMap into a pod within a minute, or at once when it has to look at the pod.
    for pod in cluster.api.get(f"{PODS}gate")["items"]:
        noted = {"metadata": {"annotations": {"rdma-gate.lab/looked-at": str(time.time())}}}
        cluster.api.patch(f"{CORE}/{NAMESPACE}/pods/{pod['metadata']['name']}", noted)
