"""The program with what the chart gives it, settings, keys, roles and service: a real API server, no kubelets."""

import base64
import json
import os
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from deploy.kube.api import Api, until
from deploy.kube.assets import Assets
from deploy.kube.cluster import ApiServer
from deploy.ports import free_port
from tests.deploy.chart.rendering import CHART, NAMESPACE, REPOSITORY, Helm, Json
from tests.kube import objects

LIMIT_SECONDS = 300
NODE = "gpu-001"
PLAN = """\
cluster: prod-eu-1
pools:
  - name: h100
    nodes: {selector: "node.kubernetes.io/instance-type=gpu8", at_least: 1}
    hcas: {compute: {match: {driver: mlx5_core}, count: 1}}
"""


@pytest.fixture
def server(assets: Assets) -> Iterator[ApiServer]:
    with ApiServer(assets) as running:
        yield running


def test_the_gate_leads_finds_its_node_by_the_service_and_hears_it(
    helm: Helm, server: ApiServer, tmp_path: Path
) -> None:
    api = server.api
    (tmp_path / "plan.yaml").write_text(PLAN)
    _install(helm, server, tmp_path / "plan.yaml")
    node, gate = _prepare_node(api, tmp_path), _prepare_gate(server, tmp_path)

    with _serving(node), _serving(gate):
        view = until(lambda: _heard(gate))

    assert [(pool["name"], [one["name"] for one in pool["nodes"]]) for pool in view["pools"]] == [("h100", [NODE])]
    lease = api.get(f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/rdma-gate")["spec"]
    # A gate that has ended gives it back; that it held it, the number of terms tells.
    assert lease["holderIdentity"] == ""
    assert lease["leaseTransitions"] > 0


def _install(helm: Helm, server: ApiServer, plan: Path) -> None:
    api = server.api
    objects.namespace(api, NAMESPACE, {"pod-security.kubernetes.io/enforce": "restricted"})
    objects.node(api, NODE)
    api.patch(f"/api/v1/nodes/{NODE}", {"metadata": {"labels": {"node.kubernetes.io/instance-type": "gpu8"}}})
    access = ("-n", NAMESPACE, "--kubeconfig", str(server.kubeconfig(api.token)))
    helm.run("install", "rdma-gate", str(CHART), *access, "--set-file", f"gate.plan={plan}")


def _prepare_node(api: Api, folder: Path) -> Path:
    """What the init container writes, and the endpoint that the cluster would make of the node's pod."""
    address, port = _own_address(), free_port(0)
    prepared = folder / "node"
    prepared.mkdir()
    settings = _settings(api, "rdma-gate-nodes") | {
        "listen": f"{address}:{port}",
        "state_dir": str(folder / "node-state"),
    }
    settings["node_key_file"] = str(prepared / "node.key")
    (folder / "node.yaml").write_text(yaml.safe_dump(settings))
    secret = api.get(f"/api/v1/namespaces/{NAMESPACE}/secrets/rdma-gate-key")
    (folder / "master.key").write_bytes(base64.b64decode(secret["data"]["master.key"]))
    subprocess.run(
        ["sh", CHART / "files" / "prepare.sh", folder / "node.yaml", folder / "master.key", prepared],
        check=True,
        env={"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "NODE_NAME": NODE},
        timeout=LIMIT_SECONDS,
    )
    service = api.get(f"/api/v1/namespaces/{NAMESPACE}/services/rdma-gate-nodes")
    endpoints = {
        "metadata": {"name": "nodes", "labels": {"kubernetes.io/service-name": service["metadata"]["name"]}},
        "addressType": "IPv4",
        "ports": [{"name": "http", "port": port}],
        "endpoints": [{"addresses": [address], "nodeName": NODE, "conditions": {"ready": True}}],
    }
    api.post(f"/apis/discovery.k8s.io/v1/namespaces/{NAMESPACE}/endpointslices", endpoints)
    return prepared / "rdma-gate.yaml"


def _prepare_gate(server: ApiServer, folder: Path) -> Path:
    """The chart's settings with paths of this machine, and the ServiceAccount's token by a kubeconfig."""
    settings = _settings(server.api, "rdma-gate") | {"listen": f"127.0.0.1:{free_port(0)}", "listen_publicly": False}
    settings |= {"state_dir": str(folder / "gate-state"), "key_file": str(folder / "master.key")}
    settings["plan"] = str(folder / "plan.yaml")
    settings["kubernetes"]["kubeconfig"] = str(server.kubeconfig(server.token(NAMESPACE, "rdma-gate")))
    path = folder / "gate.yaml"
    path.write_text(yaml.safe_dump(settings))
    return path


def _settings(api: Api, name: str) -> Json:
    found = api.get(f"/api/v1/namespaces/{NAMESPACE}/configmaps/{name}")["data"]["rdma-gate.yaml"]
    return dict(yaml.safe_load(found))


@contextmanager
def _serving(settings: Path) -> Iterator[None]:
    program = subprocess.Popen([sys.executable, "-m", "exporter", "--config", settings, "serve"], cwd=REPOSITORY)
    try:
        yield
    finally:
        program.terminate()
        program.wait(LIMIT_SECONDS)


def _heard(gate: Path) -> Any:
    """The gate's view once it has heard the node, else nothing."""
    listen = yaml.safe_load(gate.read_text())["listen"]
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        view = json.load(opener.open(f"http://{listen}/gate.json", timeout=LIMIT_SECONDS))
    except OSError:
        return None
    nodes = [node for pool in view["pools"] for node in pool["nodes"]]
    return view if nodes and all(node["last_report"] for node in nodes) else None


def _own_address() -> str:
    """An address of this machine that is no loopback, which the API refuses for endpoints. Nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as unconnected:
        try:
            unconnected.connect(("192.0.2.1", 9))
        except OSError:
            pytest.skip("not run: this machine has no address but loopback")
        return str(unconnected.getsockname()[0])
