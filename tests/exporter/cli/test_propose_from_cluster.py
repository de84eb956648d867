"""``plan propose`` against a real API server with nodes made by the test."""

import pytest

from deploy.kube.cluster import ApiServer
from tests.kube import objects

AMOUNTS = {"nvidia.com/gpu": "8", "rdma/hca_shared_devices_a": "1k"}


@pytest.fixture(scope="module")
def server(assets):
    with ApiServer(assets) as started:
        objects.namespace(started.api, "rdma-gate")
        for number, amounts in enumerate([AMOUNTS, AMOUNTS, {**AMOUNTS, "nvidia.com/gpu": "7"}, {}], 1):
            name = objects.node(started.api, f"node-{number}", amounts)
            kind = "gpu8" if amounts else "cpu"
            labels = {"node.kubernetes.io/instance-type": kind}
            started.api.patch(f"/api/v1/nodes/{name}", {"metadata": {"labels": labels}})
        yield started


def test_a_plan_of_the_clusters_nodes_is_proposed_usable_and_unreviewed(server, gate, config, tmp_path):
    kubernetes = {"kubeconfig": str(server.kubeconfig(server.api.token)), "namespace": "rdma-gate"}
    plan = tmp_path / "plan.yaml"
    said = gate("plan", "propose", "--config", config(kubernetes=kubernetes), "--cluster", "prod", "--output", plan)
    assert (said.code, said.out) == (0, f"{plan}: proposed from 4 nodes in 1 pools, not reviewed yet\n"), said.err
    assert "pool gpu8: nvidia.com/gpu: 8 on most nodes, other numbers on node-3 7" in said.err
    assert 'nodes: {selector: "node.kubernetes.io/instance-type=gpu8", at_least: 3}' in plan.read_text()
    assert '{"nvidia.com/gpu": 8, "rdma/hca_shared_devices_a": 1000}' in plan.read_text()
    checked = gate("plan", "check", plan, "--json")
    assert (checked.code, checked.json["usable"], checked.json["problems"]) == (0, True, [])
    assert checked.json["notes"][0].startswith("reviewed: not by, on and ref")


def test_machine_asks_the_machine_although_there_is_a_cluster(server, gate, config):
    kubernetes = {"kubeconfig": str(server.kubeconfig(server.api.token))}
    said = gate("plan", "propose", "--machine", "--config", config(kubernetes=kubernetes))
    assert (said.code, "compute: {match: {driver: " in said.out) == (0, True), said.err


def test_who_may_not_read_nodes_is_told_the_verb(server, gate, config):
    server.api.post("/api/v1/namespaces/rdma-gate/serviceaccounts", {"metadata": {"name": "nobody"}})
    kubernetes = {"kubeconfig": str(server.kubeconfig(server.token("rdma-gate", "nobody")))}
    said = gate("plan", "propose", "--config", config(kubernetes=kubernetes))
    assert said.code == 2
    assert 'cannot list resource "nodes"' in said.err
