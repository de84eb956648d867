"""The objects that tests put into the API server."""

from collections.abc import Mapping
from typing import Any

from deploy.kube.api import Api

Json = dict[str, Any]

NOTHING: Mapping[str, Any] = {}
# No kubelet pulls it.
IMAGE = "example.com/workload:1"


def namespace(api: Api, name: str, labels: Mapping[str, str] = NOTHING) -> str:
    """Make a namespace with the service account that pods need; return its name."""
    api.post("/api/v1/namespaces", {"metadata": {"name": name, "labels": dict(labels)}})
    # A running controller may have been first.
    made = api.ask("POST", f"/api/v1/namespaces/{name}/serviceaccounts", {"metadata": {"name": "default"}})
    assert made.status in (201, 409), made
    return name


def node(api: Api, name: str, allocatable: Mapping[str, str] = NOTHING) -> str:
    """Make a Ready node without a kubelet, which no taint keeps pods from; return its name.

    ``allocatable`` is also its capacity, and comes on top of CPU, memory and pods.
    """
    api.post("/api/v1/nodes", {"metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}}})
    # Admission taints every new node as not ready, and no node lifecycle controller takes that away.
    api.patch(f"/api/v1/nodes/{name}", {"spec": {"taints": None}})
    amounts = {"cpu": "64", "memory": "256Gi", "pods": "110", **allocatable}
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "a test says so"}
    status = {"capacity": amounts, "allocatable": amounts, "conditions": [ready]}
    api.patch(f"/api/v1/nodes/{name}/status", {"status": status})
    return name


def pod(name: str, resources: Json | None = None, security: Json | None = None) -> Json:
    """A pod with one container of these resources and this securityContext."""
    container = {"name": "main", "image": IMAGE, "resources": resources or {}, "securityContext": security or {}}
    return {"metadata": {"name": name}, "spec": {"containers": [container]}}


def daemon_set(name: str) -> Json:
    """A DaemonSet for every node without taints."""
    labels = {"app": name}
    template = pod(name)
    template["metadata"] = {"labels": labels}
    return {"metadata": {"name": name}, "spec": {"selector": {"matchLabels": labels}, "template": template}}
