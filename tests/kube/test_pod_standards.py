"""What the rules of Pod Security say of a pod is what the API server's own admission says."""

from typing import Any

import pytest

from deploy.kube.api import Api
from probes.runtime._pod_standards import forbidden
from tests.kube import objects

pytestmark = pytest.mark.kube

Json = dict[str, Any]
SAFE = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
SAFE_POD = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}


def pod(context: Json | None = None, *, of_pod: Json | None = None, container: Json | None = None, **spec: Any) -> Json:
    one = {"name": "train", "image": objects.IMAGE, "securityContext": SAFE | (context or {}), **(container or {})}
    spec = {"securityContext": SAFE_POD | (of_pod or {}), "containers": [one], **spec}
    return {"metadata": {"generateName": "p-"}, "spec": spec}


def volume(**source: Any) -> Json:
    return pod(volumes=[{"name": "v", **source}])


PODS = {
    "safe": pod(),
    "ipc_lock": pod({"capabilities": {"drop": ["ALL"], "add": ["IPC_LOCK"]}}),
    "chown": pod({"capabilities": {"drop": ["ALL"], "add": ["CHOWN"]}}),
    "bind": pod({"capabilities": {"drop": ["ALL"], "add": ["NET_BIND_SERVICE"]}}),
    "drops nothing": pod({"capabilities": {}}),
    "privileged": pod({"privileged": True, "allowPrivilegeEscalation": None}),
    "escalates": pod({"allowPrivilegeEscalation": True}),
    "root": pod({"runAsUser": 0}),
    "root by the pod": pod(of_pod={"runAsUser": 0}),
    "may be root": pod(of_pod={"runAsNonRoot": None}),
    "not root by the container": pod({"runAsNonRoot": True}, of_pod={"runAsNonRoot": None}),
    "may be root by the container": pod({"runAsNonRoot": False}),
    "no seccomp": pod(of_pod={"seccompProfile": None}),
    "seccomp of its own": pod({"seccompProfile": {"type": "Localhost", "localhostProfile": "a.json"}}),
    "unconfined": pod({"seccompProfile": {"type": "Unconfined"}}),
    "apparmor": pod({"appArmorProfile": {"type": "Unconfined"}}),
    "selinux": pod({"seLinuxOptions": {"type": "spc_t"}}),
    "selinux level": pod({"seLinuxOptions": {"level": "s0:c1"}}),
    "host network": pod(hostNetwork=True),
    "host pid": pod(hostPID=True),
    "host ipc": pod(hostIPC=True),
    "host port": pod(container={"ports": [{"containerPort": 80, "hostPort": 80}]}),
    "host path": volume(hostPath={"path": "/dev/infiniband"}),
    "empty dir": volume(emptyDir={}),
    "nfs": volume(nfs={"server": "n", "path": "/"}),
    "sysctl": pod(of_pod={"sysctls": [{"name": "net.ipv4.tcp_rmem", "value": "1 2 3"}]}),
    "unsafe sysctl": pod(of_pod={"sysctls": [{"name": "net.core.somaxconn", "value": "1"}]}),
    "proc mount": pod({"procMount": "Unmasked"}, hostUsers=False),
    "root of its own users": pod({"runAsUser": 0}, of_pod={"runAsNonRoot": None}, hostUsers=False),
    "bad first": pod(initContainers=[{"name": "first", "image": objects.IMAGE}]),
}


@pytest.fixture(scope="module")
def levels(running: Any) -> Json:
    """A namespace for each level."""
    enforce = "pod-security.kubernetes.io/enforce"
    return {one: objects.namespace(running.api, f"level-{one}", {enforce: one}) for one in ("baseline", "restricted")}


@pytest.mark.parametrize("level", ["baseline", "restricted"])
@pytest.mark.parametrize("name", PODS)
def test_the_api_server_refuses_what_the_rules_forbid_and_nothing_else(
    api: Api, levels: Json, level: str, name: str
) -> None:
    answer = api.ask("POST", f"/api/v1/namespaces/{levels[level]}/pods?dryRun=All", PODS[name])
    assert answer.status in (201, 403), answer

    assert bool(forbidden(PODS[name], level)) is (answer.status == 403), answer
