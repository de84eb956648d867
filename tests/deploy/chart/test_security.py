import json
import re
from typing import Any

import pytest
import yaml

from tests.deploy.chart.rendering import OPERATOR, Helm, Json, containers, named, pod_specs
from tests.deploy.chart.values import CHOICES, OPT_INS

RESTRICTED = {
    "allowPrivilegeEscalation": False,
    "readOnlyRootFilesystem": True,
    "capabilities": {"drop": ["ALL"]},
}
# By these a pod, or whoever holds the role, is more than it has to be.
NEVER = ("privileged", "pods/exec", "nodes/proxy", "pods/attach", "pods/portforward", "hostPID", "hostIPC", "hostPort")
NEVER_VERBS = {"*", "escalate", "bind", "impersonate"}
HOST_VOLUMES = {"hostPath"}


@pytest.mark.parametrize("choice", CHOICES)
def test_nothing_is_privileged_and_nobody_may_exec_or_proxy(helm: Helm, choice: str) -> None:
    objects = [one for one in helm.objects(CHOICES[choice], OPERATOR) if "board" not in one["metadata"]["name"]]

    text = json.dumps(objects)
    assert [word for word in NEVER if word in text] == []
    for rule in _rules(objects):
        assert not NEVER_VERBS & set(rule["verbs"]), rule
        assert "*" not in [*rule["apiGroups"], *rule["resources"]], rule
        # None can be read: each test pod is given one of its own.
        assert "secrets" not in rule["resources"] or rule["verbs"] == ["create"], rule


@pytest.mark.parametrize("choice", [choice for choice in CHOICES if choice not in OPT_INS])
def test_every_pod_meets_the_restricted_level(helm: Helm, choice: str) -> None:
    for spec in pod_specs(helm.objects(CHOICES[choice])).values():
        security = spec["securityContext"]
        assert security["runAsNonRoot"] is True
        assert security["runAsUser"] == 65532
        assert security["seccompProfile"] == {"type": "RuntimeDefault"}
        assert "hostNetwork" not in spec
        assert not HOST_VOLUMES & {kind for volume in spec["volumes"] for kind in volume}
        assert [one["securityContext"] for one in containers(spec)] == [RESTRICTED] * len(containers(spec))


def test_pod_resources_makes_the_node_pod_root_without_any_capability(helm: Helm) -> None:
    specs = pod_specs(helm.objects(CHOICES["PodResources"]))

    node = specs["DaemonSet"]
    assert [volume["hostPath"] for volume in node["volumes"] if "hostPath" in volume] == [
        {"path": "/var/lib/k0s/kubelet/pod-resources", "type": "Directory"}
    ]
    (mount,) = [one for one in node["containers"][0]["volumeMounts"] if one["name"] == "pod-resources"]
    assert mount["readOnly"] is True
    root = {**RESTRICTED, "runAsNonRoot": False, "runAsUser": 0}
    assert [one["securityContext"] for one in containers(node)] == [root, root]
    assert {json.dumps(one["securityContext"]) for one in containers(specs["Deployment"])} == {json.dumps(RESTRICTED)}


def test_the_machines_network_is_all_that_host_network_adds(helm: Helm) -> None:
    objects = helm.objects(CHOICES["the machine's network"])

    node, usual = pod_specs(objects)["DaemonSet"], pod_specs(helm.objects())["DaemonSet"]
    assert {key: node[key] for key in node if node[key] != usual.get(key)} == {
        "hostNetwork": True,
        "dnsPolicy": "ClusterFirstWithHostNet",
    }


@pytest.mark.parametrize("choice", CHOICES)
def test_images_have_a_version_or_a_digest(helm: Helm, choice: str) -> None:
    for spec in pod_specs(helm.objects(CHOICES[choice])).values():
        for one in containers(spec):
            assert re.search(r"(:\d+\.\d+\.\d+|@sha256:[0-9a-f]{64})$", one["image"]), one["image"]


def test_only_the_gate_has_a_token_of_the_api(helm: Helm) -> None:
    objects = helm.objects()

    specs = pod_specs(objects)
    assert specs["Deployment"]["automountServiceAccountToken"] is True
    assert specs["DaemonSet"]["automountServiceAccountToken"] is False
    accounts = [one for one in objects if one["kind"] == "ServiceAccount"]
    assert [one["automountServiceAccountToken"] for one in accounts] == [False, False]
    subjects = [subject["name"] for one in objects if "Binding" in one["kind"] for subject in one["subjects"]]
    assert set(subjects) == {"rdma-gate"}


def test_the_container_that_listens_on_a_node_does_not_see_the_master_key(helm: Helm) -> None:
    spec = pod_specs(helm.objects())["DaemonSet"]

    mounted = {one["name"]: [mount["name"] for mount in one["volumeMounts"]] for one in containers(spec)}
    assert mounted == {
        "prepare": ["settings", "key", "prepared", "tmp"],
        "node": ["prepared", "state", "tmp"],
    }


def test_a_new_key_is_made_only_where_none_is_named(helm: Helm) -> None:
    made = named(helm.objects(), "Secret", "rdma-gate-key")

    assert made["metadata"]["annotations"] == {"helm.sh/resource-policy": "keep"}
    assert len(made["data"]["master.key"]) == 88
    assert [one for one in helm.objects(CHOICES["a key of their own"]) if one["kind"] == "Secret"] == []


def test_the_network_lets_in_whom_the_values_name_the_gate_and_the_other_end(helm: Helm) -> None:
    monitoring = CHOICES["a closed network"]["networkPolicy"]["from"]

    objects = helm.objects(CHOICES["a closed network"])

    gate, nodes = (named(objects, "NetworkPolicy", name)["spec"] for name in ("rdma-gate", "rdma-gate-nodes"))
    port = [{"protocol": "TCP", "port": 9842}]
    waiting = {"podSelector": {"matchLabels": _labels("gate")}}
    assert gate["ingress"] == [{"ports": port, "from": [*monitoring, waiting]}]
    assert nodes["ingress"] == [
        {"ports": port, "from": [*monitoring, {"podSelector": {"matchLabels": _labels("gate")}}]},
        {"from": [{"podSelector": {"matchLabels": _labels("node")}}]},
    ]
    assert nodes["egress"] == [{"to": [{"podSelector": {"matchLabels": _labels("node")}}]}]


def test_test_pods_never_push_out_another_pod(helm: Helm) -> None:
    objects = helm.objects(CHOICES["plugins, workloads and test pods"])

    priority = named(objects, "PriorityClass", "rdma-gate-test")
    assert (priority["value"], priority["preemptionPolicy"], priority["globalDefault"]) == (-1000, "Never", False)
    assert [one for one in helm.objects() if one["kind"] == "PriorityClass"] == []


def test_roles_beyond_the_cluster_wide_one_are_narrow(helm: Helm) -> None:
    objects = helm.objects(CHOICES["plugins, workloads and test pods"])

    (read_maps,) = [rule for rule in _rules(objects) if "configmaps" in rule["resources"]]
    assert read_maps == {
        "apiGroups": [""],
        "resources": ["configmaps"],
        "resourceNames": ["rdma-devices"],
        "verbs": ["get"],
    }
    changes = {
        (verb, one["metadata"].get("namespace", ""), *rule["resources"], *rule.get("resourceNames", ()))
        for one in objects
        for rule in one.get("rules", ())
        for verb in set(rule["verbs"]) - {"get", "list", "watch"}
    }
    assert changes == {
        ("create", "rdma-gate", "leases"),
        ("update", "rdma-gate", "leases", "rdma-gate"),
        ("create", "training", "pods"),
        ("delete", "training", "pods"),
        ("create", "training", "secrets"),
    }


def test_without_roles_nothing_of_rbac_is_made(helm: Helm) -> None:
    assert [one for one in helm.objects(CHOICES["no roles"]) if one["apiVersion"].startswith("rbac.")] == []


def test_a_privileged_container_would_be_seen() -> None:
    (spec,) = yaml.safe_load_all("containers: [{securityContext: {privileged: true}}]")

    assert [word for word in NEVER if word in json.dumps(spec)] == ["privileged"]


def _rules(objects: list[Json]) -> list[dict[str, Any]]:
    return [rule for one in objects for rule in one.get("rules") or ()]


def _labels(component: str) -> dict[str, str]:
    return {
        "app.kubernetes.io/name": "rdma-gate",
        "app.kubernetes.io/instance": "rdma-gate",
        "app.kubernetes.io/component": component,
    }
