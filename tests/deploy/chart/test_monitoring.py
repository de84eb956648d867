import json
import re

import pytest
import yaml

from tests.deploy.chart.rendering import OPERATOR, REPOSITORY, Helm, named
from tests.deploy.chart.values import CHOICES

ALERTS = REPOSITORY / "alerts"
BOARDS = REPOSITORY / "dashboards"


def test_the_rules_are_those_of_alerts_to_the_letter(helm: Helm) -> None:
    written = [
        group for file in sorted(ALERTS.glob("*.yaml")) for group in yaml.safe_load(file.read_text()).get("groups", ())
    ]

    objects = helm.objects(flags=OPERATOR)

    assert named(objects, "PrometheusRule")["spec"] == {"groups": written}
    assert any("{{ $labels.node }}" in json.dumps(group) for group in written)


def test_the_boards_are_those_of_dashboards_to_the_letter(helm: Helm) -> None:
    written = {file.name: json.loads(file.read_text()) for file in BOARDS.glob("*.json")}

    objects = helm.objects()

    boards = [one for one in objects if one["metadata"]["labels"]["app.kubernetes.io/component"] == "board"]
    assert {name: json.loads(text) for one in boards for name, text in one["data"].items()} == written
    for one in boards:
        assert one["metadata"]["labels"]["grafana_dashboard"] == "1"
        assert one["metadata"]["annotations"] == {"grafana_folder": "rdma-gate"}
        # What an annotation of kubectl apply would not hold, Kubernetes refuses at a mebibyte.
        assert len(json.dumps(one["data"])) < 2**20


def test_rules_and_boards_stand_in_the_repository_once() -> None:
    assert (REPOSITORY / "deploy/chart/alerts").resolve() == ALERTS
    assert (REPOSITORY / "deploy/chart/dashboards").resolve() == BOARDS


def test_prometheus_scrapes_both_roles_as_jobs_that_the_rules_look_for(helm: Helm) -> None:
    objects = helm.objects(CHOICES["many clusters"], OPERATOR)

    (gate,) = named(objects, "ServiceMonitor")["spec"]["endpoints"]
    (node,) = named(objects, "PodMonitor", "rdma-gate-nodes")["spec"]["podMetricsEndpoints"]
    cluster = {"targetLabel": "cluster", "replacement": "prod-eu-1"}
    assert gate["relabelings"] == [{"targetLabel": "job", "replacement": "rdma-gate"}, cluster]
    assert node["relabelings"] == [
        {"targetLabel": "job", "replacement": "rdma-gate-node"},
        {"sourceLabels": ["__meta_kubernetes_pod_node_name"], "targetLabel": "node"},
        cluster,
    ]
    jobs = set(re.findall(r"job=~[\"'](.+?)[\"']", "".join(file.read_text() for file in ALERTS.glob("*.yaml"))))
    assert jobs == {"rdma-gate.*"}
    for one in (gate, node):
        assert one["honorLabels"] is True
        assert re.fullmatch(jobs.copy().pop(), one["relabelings"][0]["replacement"])


@pytest.mark.parametrize(("kind", "name"), [("ServiceMonitor", "rdma-gate"), ("PodMonitor", "rdma-gate-nodes")])
def test_monitors_find_what_they_scrape(helm: Helm, kind: str, name: str) -> None:
    objects = helm.objects(CHOICES["many clusters"], OPERATOR)

    monitor = named(objects, kind, name)
    wanted = monitor["spec"]["selector"]["matchLabels"].items()
    if kind == "ServiceMonitor":
        target = named(objects, "Service")["metadata"]["labels"]
    else:
        target = named(objects, "DaemonSet", name)["spec"]["template"]["metadata"]["labels"]
    assert wanted <= target.items()
    assert monitor["metadata"]["labels"]["release"] == "kube-prometheus-stack"


def test_each_object_of_the_operator_waits_for_its_own_kind(helm: Helm) -> None:
    flags = ("--api-versions", "monitoring.coreos.com/v1/PodMonitor")

    made = {one["kind"] for one in helm.objects(flags=flags) if one["apiVersion"] == "monitoring.coreos.com/v1"}

    assert made == {"PodMonitor"}
