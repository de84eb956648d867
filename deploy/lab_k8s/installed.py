"""What an administrator puts into the cluster: namespaces, the device plugin, the plan, and our chart by helm."""

import secrets
import subprocess
import time
from pathlib import Path
from typing import Any

import yaml

from deploy.demo.decisions import WITHOUT_GPUS, decisions_text
from deploy.kube.api import Api, until
from deploy.kube.assets import find_asset
from deploy.kube.cluster import ApiServer
from deploy.lab.progress import Say
from deploy.lab_k8s.machines import NODES

HERE = Path(__file__).resolve().parent
CHART = HERE.parent / "chart"
CORE = "/api/v1/namespaces"
NAMESPACE, WORKLOADS, PLUGINS = "rdma-gate", "training", "rdma-plugin"
PLAN, DECISIONS, KEY = "rdma-gate-plan", "rdma-gate-decisions", "rdma-gate-key"
RESOURCE, HCAS = "rdma/hca", 8
# A hostPath, that of the kubelet's PodResources, is admitted at this level alone.
LEVELS = {NAMESPACE: "privileged", WORKLOADS: "baseline"}
CHART_VALUES = {
    "gate.planConfigMap": PLAN,
    "gate.decisionsConfigMap": DECISIONS,
    "key.existingSecret": KEY,
}


class NotInstalledError(Exception):
    """helm did not install the chart; the message holds its own."""


def install(server: ApiServer, say: Say) -> None:
    """Install everything; the gates come up later. RefusedError or NotInstalledError where a part is refused."""
    say("installing the device plugin and the chart")
    for one in yaml.safe_load((HERE / "plugin.yaml").read_text()):
        create(server.api, one)
    # All at once would be too much for machines with one emulated processor.
    until(lambda: all(advertised(server.api, node) == HCAS for node in NODES))
    say(f"both nodes advertise {HCAS} of {RESOURCE}")
    for name, level in LEVELS.items():
        create(server.api, _namespace(name, level))
    create(server.api, _text_map(PLAN, plan_files()))
    create(server.api, _text_map(DECISIONS, {"decisions.yaml": decisions_text(time.time(), WITHOUT_GPUS)}))
    create(server.api, _secret(KEY, {"master.key": secrets.token_hex(32)}))
    helm_install(server)


def advertised(api: Api, node: str) -> int:
    """How many of RESOURCE the node says it can give out."""
    return int(api.get(f"/api/v1/nodes/{node}")["status"].get("allocatable", {}).get(RESOURCE, "0"))


def plan_files() -> dict[str, str]:
    """The plan and the workload's template beside it, as they are in the gate's ConfigMap."""
    return {name: (HERE / name).read_text() for name in ("plan.yaml", "job.yaml")}


def create(api: Api, one: dict[str, Any]) -> None:
    """Create one object of the kinds that are in PATHS."""
    namespace = one["metadata"].get("namespace", "")
    api.post(PATHS[one["kind"]].format(namespace=namespace), one)


PATHS = {
    "Namespace": CORE,
    "ConfigMap": CORE + "/{namespace}/configmaps",
    "Secret": CORE + "/{namespace}/secrets",
    "DaemonSet": "/apis/apps/v1/namespaces/{namespace}/daemonsets",
}


def helm_install(server: ApiServer) -> None:
    """As a user does it, with the administrator's kubeconfig."""
    values = [word for name, value in CHART_VALUES.items() for word in ("--set", f"{name}={value}")]
    command = [find_asset("helm"), f"--kubeconfig={server.kubeconfig(server.api.token)}", "install", "rdma-gate", CHART]
    done = subprocess.run(
        [*command, f"--namespace={NAMESPACE}", f"--values={HERE / 'values.yaml'}", *values],
        check=False,
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        raise NotInstalledError(f"helm install: exit status {done.returncode} found, 0 wanted: {done.stderr.strip()}")


def _namespace(name: str, level: str) -> dict[str, Any]:
    labels = {"pod-security.kubernetes.io/enforce": level}
    return {"kind": "Namespace", "metadata": {"name": name, "labels": labels}}


def _text_map(name: str, data: dict[str, str]) -> dict[str, Any]:
    return {"kind": "ConfigMap", "metadata": {"name": name, "namespace": NAMESPACE}, "data": data}


def _secret(name: str, data: dict[str, str]) -> dict[str, Any]:
    return {"kind": "Secret", "metadata": {"name": name, "namespace": NAMESPACE}, "stringData": data}
