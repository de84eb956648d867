"""The cluster is read where a service account is mounted or a kubeconfig is named, and what is wrong has its place."""

from pathlib import Path

import pytest

from exporter.settings import Environment, KubernetesSettings, SettingsError
from exporter.settings_file import parse_settings


@pytest.fixture
def pod(tmp_path):
    (tmp_path / "token").write_text("t")
    (tmp_path / "namespace").write_text("monitoring\n")
    return tmp_path


def read(text, *, base=Path("/etc/rdma-gate"), **variables):
    return parse_settings(
        text, Environment({"HOME": "/home/ana", **variables}, "h", is_root=False), base=base
    ).kubernetes


def mistakes(text):
    with pytest.raises(SettingsError) as caught:
        read(text)
    return caught.value.lines


def test_without_a_cluster_none_is_read():
    assert read("") is None
    assert read("", KUBERNETES_SERVICE_HOST="10.0.0.1") is None


def test_a_mounted_service_account_is_enough_and_tells_the_namespace(pod):
    text = f"kubernetes: {{service_account: {pod}}}"
    assert read(text, KUBERNETES_SERVICE_HOST="10.0.0.1") == KubernetesSettings("monitoring", pod)
    assert read(text) is None


def test_no_forbids_it_and_a_node_never_reads_it(pod):
    text = f"kubernetes: {{service_account: {pod}, enabled: no}}"
    assert read(text, KUBERNETES_SERVICE_HOST="10.0.0.1") is None
    text = f"roles: [node]\nkubernetes: {{service_account: {pod}}}"
    assert read(text, KUBERNETES_SERVICE_HOST="10.0.0.1") is None


def test_a_kubeconfig_is_used_when_it_is_named():
    found = read(
        "kubernetes: {kubeconfig: kube.yaml, context: prod, namespace: rdma, stale: 10m, lease: gate,"
        " node_service: nodes, plugin_namespaces: [kube-system], test_namespaces: [train], pods_everywhere: true}"
    )
    assert found == KubernetesSettings(
        namespace="rdma",
        service_account=Path("/var/run/secrets/kubernetes.io/serviceaccount"),
        kubeconfig=Path("/etc/rdma-gate/kube.yaml"),
        context="prod",
        node_service="nodes",
        lease="gate",
        plugin_namespaces=("kube-system",),
        test_namespaces=("train",),
        pods_everywhere=True,
        stale_seconds=600.0,
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("stale: 5s", "kubernetes.stale: 5s found, at least 90 s wanted"),
        ("stale: soon", "kubernetes.stale: 'soon': a number with a unit such as us wanted"),
        ("enabled: maybe", "kubernetes.enabled: 'maybe' found, one of auto, yes, no wanted"),
        ("context: c", "kubernetes.context: c found without a kubeconfig, one wanted"),
        ("lease: A_B", "kubernetes.lease: 'A_B' found, a name of Kubernetes wanted, as in rdma-gate"),
        ("test_namespaces: x", "kubernetes.test_namespaces: 'x' found, a list of names wanted"),
        (
            "test_namespaces: [x, ../y]",
            "kubernetes.test_namespaces[1]: '../y' found, a name of Kubernetes wanted, as in rdma-gate",
        ),
    ],
)
def test_a_mistake_is_said_at_its_place(text, said):
    assert mistakes(f"kubernetes: {{{text}}}") == (f"line 1: {said}",)
