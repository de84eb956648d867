"""A real control plane with the chart's own roles, a gate as a process, and a kubelet that a test plays."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from deploy.kube.api import Api, until
from deploy.kube.assets import Assets
from deploy.kube.cluster import ApiServer
from exporter.keys import node_key
from tests.deploy.chart.rendering import NAMESPACE, Helm
from tests.exporter.pods.kubelet import Kubelet
from tests.exporter.program.conftest import Served, h100x8, prepare  # noqa: F401 fixtures
from tests.kube import objects

RBAC = "/apis/rbac.authorization.k8s.io/v1"
MASTER = "6d" * 32


@pytest.fixture(scope="session")
def helm(asset: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> Helm:
    """helm itself; the test is skipped where it is not to be had."""
    return Helm(asset("helm"), Path(tmp_path_factory.mktemp("helm")))


@pytest.fixture(scope="session")
def server(assets: Assets) -> Iterator[ApiServer]:
    """API server, controllers and scheduler for all tests here."""
    with ApiServer(assets) as cluster:
        cluster.start_controllers()
        cluster.start_scheduler()
        objects.namespace(cluster.api, "known")
        yield cluster


@pytest.fixture(scope="session")
def numbers() -> Iterator[int]:
    return iter(range(1, 1000))


@pytest.fixture
def namespace(server: ApiServer, numbers: Iterator[int]) -> str:
    """A namespace of the workload, for one test."""
    return objects.namespace(server.api, f"training-{next(numbers)}")


@pytest.fixture
def account(server: ApiServer, helm: Helm, namespace: str) -> Path:
    """The kubeconfig of a gate's account with the chart's roles for test pods there, and nothing else."""
    objects.namespace(server.api, gate_place(namespace))
    values = {"rbac": {"plugins": [], "workloads": [namespace]}, "testPods": {"namespaces": [namespace]}}
    name = f"gate-{namespace}"
    server.api.post(f"/api/v1/namespaces/{gate_place(namespace)}/serviceaccounts", {"metadata": {"name": name}})
    for one in helm.objects(values):
        if one["kind"] in ("Role", "ClusterRole"):
            _grant(server, one, name, gate_place(namespace))
        if one["kind"] == "PriorityClass":
            server.api.ask("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", one)
    return server.kubeconfig(server.token(gate_place(namespace), name))


def gate_place(namespace: str) -> str:
    """The namespace of the gate that tests in this one: each has a Lease of its own."""
    return f"gate-of-{namespace}"


def _grant(server: ApiServer, role: dict[str, Any], account: str, own: str) -> None:
    kind, place = role["kind"], role["metadata"].get("namespace", "").replace(NAMESPACE, own)
    path = f"{RBAC}/namespaces/{place}" if place else RBAC
    name = f"{account}-{role['metadata']['name']}"
    server.api.post(f"{path}/{kind.lower()}s", {"metadata": {"name": name}, "rules": role["rules"]})
    subjects = [{"kind": "ServiceAccount", "name": account, "namespace": own}]
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name}
    body = {"metadata": {"name": name}, "subjects": subjects, "roleRef": reference}
    server.api.post(f"{path}/{kind.lower()}bindings", body)


@pytest.fixture
def kubelet(server: ApiServer, tmp_path: Path, h100x8: Path, namespace: str) -> Iterator[Kubelet]:  # noqa: F811
    playing = Kubelet(server.api, tmp_path, h100x8, namespace)
    yield playing
    playing.end_processes()


@pytest.fixture
def node(server: ApiServer, numbers: Iterator[int]) -> Iterator[str]:
    """A Ready node with eight GPUs, for one test."""
    name = objects.node(server.api, f"gpu-{next(numbers)}", {"nvidia.com/gpu": "8", "rdma/hca": "1000"})
    until_scheduler_knows(server.api, name)
    yield name
    server.api.ask("DELETE", f"/api/v1/nodes/{name}")


def until_scheduler_knows(api: Api, name: str) -> None:
    """Return once the scheduler has placed something there, so that what it refuses it refuses for good."""
    path = "/api/v1/namespaces/known/pods"
    pod = objects.pod(f"on-{name}")
    pod["spec"]["nodeSelector"] = {"kubernetes.io/hostname": name}
    api.post(path, pod)
    until(lambda: api.get(f"{path}/on-{name}")["spec"].get("nodeName"))
    api.ask("DELETE", f"{path}/on-{name}", {"gracePeriodSeconds": 0})


@pytest.fixture
def make_agent(prepare: Callable[..., Served]) -> Callable[[str], Served]:  # noqa: F811
    """``make_agent(node)`` is the DaemonSet's process on a node."""

    def make(name: str) -> Served:
        served = prepare(name, roles=["node"], node_key_file="node.key")
        (served.folder / "node.key").write_text(node_key(MASTER.encode(), name).hex())
        return served

    return make


@pytest.fixture
def make_gate(prepare: Callable[..., Served], account: Path, namespace: str) -> Callable[..., Served]:  # noqa: F811
    def make(plan: dict[str, Any], *agents: Served, name: str = "gate") -> Served:
        served = prepare(name, roles=["gate"], plan="plan.yaml", key_file="master.key")
        served.settings["kubernetes"] = {
            "kubeconfig": str(account),
            "namespace": gate_place(namespace),
            "runner_image": "rdma-gate:0.1.0",
            "test_namespaces": [namespace],
        }
        served.settings["members"] = [{"name": one.settings["node"], "url": one.url} for one in agents]
        (served.folder / "plan.yaml").write_text(yaml.safe_dump(plan))
        (served.folder / "master.key").write_text(MASTER)
        return served

    return make
