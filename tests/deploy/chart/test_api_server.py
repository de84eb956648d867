"""What a real kube-apiserver says of the chart: every field, the Pod Security levels, the roles as granted."""

from collections.abc import Iterator
from typing import Any

import pytest

from deploy.kube.api import Api
from deploy.kube.assets import Assets
from deploy.kube.cluster import ApiServer
from tests.deploy.chart.rendering import CHART, NAMESPACE, Helm, Json, pod_specs
from tests.deploy.chart.values import CHOICES, OPT_INS
from tests.kube import objects

APPLY = "application/apply-patch+yaml"
CHECK = "dryRun=All&fieldValidation=Strict"
PLURALS = {"NetworkPolicy": "networkpolicies", "PriorityClass": "priorityclasses"}
EVERYTHING = "plugins, workloads and test pods"


@pytest.fixture(scope="module")
def server(assets: Assets) -> Iterator[ApiServer]:
    """An API server alone, with the namespaces that the values name; built the first time."""
    with ApiServer(assets) as running:
        for name in ("inference", "training", "nvidia-network-operator"):
            objects.namespace(running.api, name)
        objects.namespace(running.api, NAMESPACE, {"pod-security.kubernetes.io/enforce": "restricted"})
        yield running


@pytest.fixture(scope="module")
def api(server: ApiServer, helm: Helm) -> Api:
    """The administrator's view, once accounts and roles of the chart are there."""
    for one in helm.objects(CHOICES[EVERYTHING]):
        if one["kind"] == "ServiceAccount" or one["apiVersion"].startswith("rbac."):
            answer = server.api.ask(
                "PATCH", f"{_path(one)}?fieldManager=test&fieldValidation=Strict", one, content=APPLY
            )
            assert answer.status in (200, 201), answer.body
    return server.api


@pytest.mark.parametrize("choice", CHOICES)
def test_the_server_takes_every_object_and_knows_every_field(helm: Helm, api: Api, choice: str) -> None:
    for one in helm.objects(CHOICES[choice]):
        answer = api.ask("PATCH", f"{_path(one)}?fieldManager=test&force=true&{CHECK}", one, content=APPLY)

        assert answer.status in (200, 201), (one["kind"], answer.body)


def test_the_server_refuses_a_field_that_it_does_not_know(helm: Helm, api: Api) -> None:
    (deployment,) = [one for one in helm.objects() if one["kind"] == "Deployment"]

    wrong = {**deployment, "spec": {**deployment["spec"], "replica": 1}}
    answer = api.ask("PATCH", f"{_path(wrong)}?fieldManager=test&{CHECK}", wrong, content=APPLY)

    assert answer.status >= 400
    assert "replica" in answer.body["message"]


@pytest.mark.parametrize("choice", CHOICES)
def test_a_restricted_namespace_admits_every_pod_but_those_of_the_opt_ins(helm: Helm, api: Api, choice: str) -> None:
    admitted = {kind: _made(api, spec).status == 201 for kind, spec in pod_specs(helm.objects(CHOICES[choice])).items()}

    assert admitted == {"Deployment": True, "DaemonSet": choice not in OPT_INS}


def test_the_refusal_names_what_an_opt_in_takes(helm: Helm, api: Api) -> None:
    said = {
        choice: _made(api, pod_specs(helm.objects(CHOICES[choice]))["DaemonSet"]).body["message"] for choice in OPT_INS
    }

    assert "hostNetwork=true" in said["the machine's network"]
    assert "restricted volume types" in said["PodResources"]
    assert "runAsUser=0" in said["PodResources"]
    assert all('violates PodSecurity "restricted:latest"' in text for text in said.values())


def test_the_gate_may_do_what_its_roles_say_and_nothing_else(api: Api, server: ApiServer) -> None:
    gate = api.with_token(server.token(NAMESPACE, "rdma-gate"))

    allowed = {
        "GET /api/v1/nodes": 200,
        "GET /apis/apps/v1/daemonsets": 200,
        "GET /apis/resource.k8s.io/v1/resourceslices": 200,
        f"GET /apis/discovery.k8s.io/v1/namespaces/{NAMESPACE}/endpointslices": 200,
        "GET /api/v1/namespaces/training/pods": 200,
        "GET /api/v1/namespaces/training/events": 200,
        "GET /api/v1/namespaces/nvidia-network-operator/configmaps/rdma-devices": 404,
        f"GET /apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/rdma-gate": 404,
    }
    denied = (
        "GET /api/v1/secrets",
        f"GET /api/v1/namespaces/{NAMESPACE}/secrets/rdma-gate-key",
        "GET /api/v1/namespaces/nvidia-network-operator/configmaps",
        "GET /api/v1/namespaces/nvidia-network-operator/configmaps/other",
        f"GET /apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/other",
        f"GET /apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases",
        "DELETE /api/v1/nodes/gpu-001",
        "GET /api/v1/nodes/gpu-001/proxy/metrics",
        "POST /api/v1/namespaces/training/pods/one/exec",
        f"POST /api/v1/namespaces/{NAMESPACE}/pods",
    )
    assert {request: gate.ask(*request.split(" ")).status for request in allowed} == allowed
    assert {request: gate.ask(*request.split(" ")).status for request in denied} == dict.fromkeys(denied, 403)


def test_the_gate_makes_and_renews_its_own_lease_alone(api: Api, server: ApiServer) -> None:
    gate = api.with_token(server.token(NAMESPACE, "rdma-gate"))
    path = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases"

    made = gate.post(path, {"metadata": {"name": "rdma-gate"}, "spec": {"holderIdentity": "one"}})

    assert gate.ask("PUT", f"{path}/rdma-gate", made).status == 200
    assert gate.ask("DELETE", f"{path}/rdma-gate").status == 403
    api.ask("DELETE", f"{path}/rdma-gate")


def test_the_node_role_may_nothing(api: Api, server: ApiServer) -> None:
    node = api.with_token(server.token(NAMESPACE, "rdma-gate-nodes"))

    requests = ["/api/v1/nodes", f"/api/v1/namespaces/{NAMESPACE}/pods", f"/api/v1/namespaces/{NAMESPACE}/configmaps"]
    assert [node.ask("GET", path).status for path in requests] == [403, 403, 403]


def _made(api: Api, spec: Json) -> Any:
    pod = {"metadata": {"generateName": "one-"}, "spec": spec}
    return api.ask("POST", f"/api/v1/namespaces/{NAMESPACE}/pods?{CHECK}", pod)


def _path(one: Json) -> str:
    group, kind = one["apiVersion"], one["kind"]
    root = f"/apis/{group}" if "/" in group else f"/api/{group}"
    namespace = one["metadata"].get("namespace")
    place = f"/namespaces/{namespace}" if namespace else ""
    return f"{root}{place}/{PLURALS.get(kind, kind.lower() + 's')}/{one['metadata']['name']}"


def test_the_key_outlives_upgrades_and_the_release(helm: Helm, api: Api, server: ApiServer) -> None:
    namespace = objects.namespace(api, "west")
    access = ("-n", namespace, "--kubeconfig", str(server.kubeconfig(api.token)))
    secret = f"/api/v1/namespaces/{namespace}/secrets/west-rdma-gate-key"

    notes = helm.run("install", "west", str(CHART), *access)
    key = api.get(secret)["data"]["master.key"]
    helm.run("upgrade", "west", str(CHART), *access, "--set", "gate.replicas=2")
    upgraded = api.get(secret)["data"]["master.key"]
    helm.run("uninstall", "west", *access)

    assert "closed (no_plan)" in notes
    assert "This cluster has no PodMonitor" in notes
    assert upgraded == key
    assert api.get(secret)["data"]["master.key"] == key
    left = [one["metadata"]["name"] for one in api.get(f"/apis/apps/v1/namespaces/{namespace}/deployments")["items"]]
    assert left == []
