"""What the lab puts into the cluster and onto its machines fits together."""

import json
import os
import subprocess
from pathlib import Path

import pytest
import yaml

from deploy.lab import cache
from deploy.lab_k8s import furnishing, images, installed, machines
from deploy.lab_k8s.furnishing import HERE, pod_networking
from deploy.lab_k8s.machines import SHAPE

NODE_A, NODE_B = SHAPE.guests


def test_every_object_that_is_installed_is_of_a_kind_with_a_path() -> None:
    objects = yaml.safe_load((installed.HERE / "plugin.yaml").read_text())
    assert [one["kind"] for one in objects] == ["Namespace", "ConfigMap", "DaemonSet"]
    assert {one["kind"] for one in objects} <= installed.PATHS.keys()


def test_the_plugin_advertises_what_the_plan_wants() -> None:
    _, settings, daemon_set = yaml.safe_load((installed.HERE / "plugin.yaml").read_text())
    (resource,) = json.loads(settings["data"]["config.json"])["configList"]
    (pool,) = yaml.safe_load((installed.HERE / "plan.yaml").read_text())["pools"]
    assert (f"rdma/{resource['resourceName']}", resource["rdmaHcaMax"]) == (installed.RESOURCE, installed.HCAS)
    assert pool["checks"]["visibility.allocatable"]["resources"] == {installed.RESOURCE: installed.HCAS}
    assert daemon_set["spec"]["template"]["spec"]["containers"][0]["image"] == images.RDMA_PLUGIN


def test_the_plan_is_usable_with_the_template_beside_it(rdma_gate: Path) -> None:
    done = subprocess.run(
        [rdma_gate, "plan", "check", installed.HERE / "plan.yaml"], check=False, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "usable")


@pytest.fixture
def rdma_gate() -> Path:
    return installed.HERE.parents[1] / ".venv/bin/rdma-gate"


def test_pods_of_one_machine_are_reached_by_the_route_of_the_other() -> None:
    assert [machines.pod_network(machines.other(one)) for one in SHAPE.guests] == ["10.244.2.0/24", "10.244.1.0/24"]
    (bridge,) = pod_networking(NODE_A)["plugins"]
    assert bridge["ipam"]["ranges"] == [[{"subnet": "10.244.1.0/24"}]]


def test_the_rules_in_place_of_kube_proxy_lead_to_the_door_of_the_api_server() -> None:
    rules = (HERE / "network.nft").read_text()
    door = machines.API_DOOR
    assert rules.count(f"ip daddr {machines.SERVICE_ADDRESS} tcp dport 443 dnat to {door.address}:{door.port}") == 2


def test_the_door_leads_to_the_port_that_the_api_server_has_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RDMA_GATE_LAB_CACHE", str(tmp_path))
    machines.open_api_door(6443)
    machines.open_api_door(7443)
    assert (SHAPE.run_directory / "api.port").read_text() == "7443"
    assert os.access(SHAPE.run_directory / machines.API_DOOR.command, os.X_OK)
    assert SHAPE.run_directory.is_relative_to(cache.directory())


def test_another_store_or_kubelet_is_another_saved_state() -> None:
    keys = {
        furnishing.furnishing(Path("stores") / store, Path("programs") / kubelet / "kubelet").key
        for store, kubelet in (("a", "1"), ("b", "1"), ("a", "2"))
    }
    assert len(keys) == 3
