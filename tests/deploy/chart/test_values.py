import json
from typing import Any

import msgspec
import pytest
import yaml

from exporter.settings_file import SettingsFile
from tests.deploy.chart.rendering import CHART, NAMESPACE, OPERATOR, Helm, RefusedError, named, pod_specs
from tests.deploy.chart.values import CHOICES

SET_BY_THE_CHART = {
    "gate": {"node", "roles", "listen", "listen_publicly", "state_dir", "plan", "decisions", "key_file"},
    "node": {"node", "roles", "listen", "listen_publicly", "state_dir", "node_key_file"},
}
# Of `kubernetes` the gate's values hold what the chart does not know.
OF_THE_OTHER_ROLE = {
    "gate": {"node_key_file", "vantage", "bursts"},
    "node": {"plan", "decisions", "key_file", "members", "kubernetes"},
}

REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "an unknown key": ({"gates": 1}, "additional properties 'gates' not allowed"),
    "an unknown key below": ({"gate": {"replica": 1}}, "at '/gate': additional properties 'replica' not allowed"),
    "three gates": ({"gate": {"replicas": 3}}, "at '/gate/replicas': maximum: got 3, want 2"),
    "no gate": ({"gate": {"replicas": 0}}, "at '/gate/replicas': minimum: got 0, want 1"),
    "a tag that moves": ({"image": {"tag": "latest"}}, "image.tag: latest found, a version wanted"),
    "a digest that is none": ({"image": {"digest": "sha256:abc"}}, "at '/image/digest'"),
    "settings that the chart decides": ({"gate": {"settings": {"roles": ["node"]}}}, "at '/gate/settings'"),
    "two gates on one claim": (
        {"gate": {"replicas": 2, "persistence": {"enabled": True}}},
        "gate.persistence: enabled with 2 replicas found, 1 replica wanted",
    ),
    "two plans": (
        {"gate": {"plan": "pools: []", "planConfigMap": "mine"}},
        "gate: plan and planConfigMap found, one of them wanted",
    ),
    "two sets of decisions": (
        {"gate": {"decisions": "decisions: []", "decisionsConfigMap": "mine"}},
        "gate: decisions and decisionsConfigMap found, one of them wanted",
    ),
    "test pods that push out workloads": ({"testPods": {"priority": 1}}, "at '/testPods/priority': maximum"),
    "a resource without its domain": ({"node": {"sharedPluginToken": "hca"}}, "at '/node/sharedPluginToken'"),
    "a privileged port": ({"port": 80}, "at '/port': minimum: got 80, want 1,024"),
    "an interval without its unit": ({"monitoring": {"interval": "15"}}, "at '/monitoring/interval'"),
}


@pytest.mark.parametrize("flags", [(), OPERATOR], ids=["no operator", "prometheus operator"])
@pytest.mark.parametrize("choice", CHOICES)
def test_the_chart_renders_objects_that_are_named_once_and_placed(
    helm: Helm, choice: str, flags: tuple[str, ...]
) -> None:
    objects = helm.objects(CHOICES[choice], flags)

    keys = [(one["kind"], one["metadata"].get("namespace"), one["metadata"]["name"]) for one in objects]
    assert len(set(keys)) == len(keys)
    cluster_wide = {kind for kind, namespace, _ in keys if namespace is None}
    assert cluster_wide <= {"ClusterRole", "ClusterRoleBinding", "PriorityClass"}
    # What the operator's CRDs are needed for is made only where they are.
    has_operator = {one["apiVersion"] for one in objects} >= {"monitoring.coreos.com/v1"}
    assert has_operator == (bool(flags) and choice != "no monitoring")


@pytest.mark.parametrize("wish", REFUSED)
def test_values_that_cannot_be_meant_are_refused_with_their_place(helm: Helm, wish: str) -> None:
    values, sentence = REFUSED[wish]

    with pytest.raises(RefusedError) as refusal:
        helm.objects(values)

    assert sentence in str(refusal.value)


def test_the_chart_has_no_complaint_of_helm(helm: Helm) -> None:
    answer = helm.run("lint", "--strict", str(CHART), "--kube-version", "1.34.0")

    assert "1 chart(s) linted, 0 chart(s) failed" in answer
    assert "[WARNING]" not in answer


def test_every_value_is_known_to_the_schema() -> None:
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    schema = json.loads((CHART / "values.schema.json").read_text())

    assert _unknown(values, schema["properties"]) == []


@pytest.mark.parametrize("role", ["gate", "node"])
def test_the_schema_takes_the_settings_that_the_program_knows_and_the_chart_does_not_decide(role: str) -> None:
    schema = json.loads((CHART / "values.schema.json").read_text())
    taken = set(schema["properties"][role]["properties"]["settings"]["properties"])
    known = {field.name for field in msgspec.structs.fields(SettingsFile)}

    assert taken == known - SET_BY_THE_CHART[role] - OF_THE_OTHER_ROLE[role]


def test_two_gates_have_a_budget_and_one_alone_has_none(helm: Helm) -> None:
    alone, two = helm.objects(), helm.objects(CHOICES["two gates"])

    assert [one for one in alone if one["kind"] == "PodDisruptionBudget"] == []
    assert named(alone, "Deployment")["spec"]["strategy"] == {"type": "Recreate"}
    assert named(two, "PodDisruptionBudget")["spec"]["minAvailable"] == 1
    assert named(two, "Deployment")["spec"]["strategy"] == {"type": "RollingUpdate"}


def test_a_release_of_any_name_has_objects_of_that_name(helm: Helm) -> None:
    text = helm.template(release="west")

    names = {one["metadata"]["name"] for one in yaml.load_all(text, yaml.CSafeLoader) if one}
    assert {name.partition("rdma-gate")[0] for name in names} <= {"west-", ""}
    assert f"{NAMESPACE}-west-rdma-gate" in names


def test_the_node_pods_ask_for_no_gpu_and_no_rdma_unless_told(helm: Helm) -> None:
    silent, told = helm.objects(), helm.objects(CHOICES["RDMA for the nodes"])

    (node,) = pod_specs(silent)["DaemonSet"]["containers"]
    assert node["resources"] == {"requests": {"cpu": "50m", "memory": "96Mi"}, "limits": {"memory": "512Mi"}}
    (node,) = pod_specs(told)["DaemonSet"]["containers"]
    assert node["resources"]["requests"]["rdma/hca_shared_devices_a"] == 1
    assert node["resources"]["limits"]["rdma/hca_shared_devices_a"] == 1


def _unknown(values: dict[str, Any], properties: dict[str, Any], place: str = "") -> list[str]:
    found = [f"{place}{key}" for key in values if key not in properties]
    for key, value in values.items():
        inner = properties.get(key, {}).get("properties")
        if isinstance(value, dict) and inner is not None:
            found += _unknown(value, inner, f"{place}{key}.")
    return found
