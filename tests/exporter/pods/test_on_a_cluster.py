"""The whole of it: a real API server and scheduler, the chart's roles, a gate and a runner as processes."""

import json
import re
import runpy
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from deploy.kube.api import until
from tests.exporter.pods.kubelet import Kubelet
from tests.exporter.program.conftest import REPOSITORY, Served

pytestmark = pytest.mark.kube

MakeGate = Callable[..., Served]
WORKLOAD: dict[str, Any] = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "spec": {
        "template": {
            "metadata": {
                "labels": {"app": "training"},
                "annotations": {"k8s.v1.cni.cncf.io/networks": "rail-0, rail-1"},
            },
            "spec": {
                "containers": [
                    {
                        "name": "train",
                        "image": "example.com/workload:1",
                        "command": ["train"],
                        "resources": {"limits": {"nvidia.com/gpu": "8", "rdma/hca": "1"}},
                    }
                ],
            },
        }
    },
}


def plan_for(namespace: str, *nodes: str, template: object = WORKLOAD, **pods: Any) -> dict[str, Any]:
    hcas = {"compute": {"match": {"driver": "mlx5_core", "link_layer": "Ethernet"}, "count": 8}}
    checks = {"access.ports": {"hcas": "compute", "rate": "400Gbit/s"}, "access.gids": {"hcas": "compute"}}
    checks["access.device_files"] = {"hcas": "compute"}
    test_pods = {"namespace": namespace, "template": template, "every": "1h", "limit": "10m", **pods}
    pool = {"name": "h100", "nodes": {"names": list(nodes)}, "hcas": hcas, "checks": checks, "test_pods": test_pods}
    return {
        "cluster": "lab",
        "reviewed": {"by": "ana", "on": "2026-11-30", "ref": "git:3f2c9e1"},
        "budget": {"tests_enabled": True},
        "pools": [pool],
    }


def number(gate: Served, series: str) -> float:
    found = re.search(rf"^rdma_gate_{re.escape(series)} (\S+)$", gate.get("/metrics").decode(), re.MULTILINE)
    return float(found[1]) if found else -1.0


def finding(gate: Served, node: str, check: str, probe: str) -> dict[str, Any]:
    cell = next(one for one in gate.node(node)["cells"] if one["check"] == check)
    return next((one for one in cell["findings"] if one["probe"] == probe), {})


def test_a_pod_of_the_template_is_made_bound_reports_and_goes_and_the_gauges_return_to_zero(
    kubelet: Kubelet, node: str, namespace: str, make_gate: MakeGate, make_agent: Callable[..., Served]
) -> None:
    gate = make_gate(plan_for(namespace, node), make_agent(node).start()).start()
    pod = kubelet.bound(node)
    gate.until(lambda: finding(gate, node, "access", "access.ports"))
    assert finding(gate, node, "access", "access.ports").get("reason") == "no_result"
    assert number(gate, "test_pods_outstanding") == 1
    assert number(gate, "test_pods_gpus_requested") == 8

    kubelet.start(pod, "127.0.0.2")
    kubelet.let_go(pod)

    gate.until(lambda: number(gate, "test_pods_outstanding") == 0)
    assert number(gate, "test_pods_gpus_requested") == 0
    gate.until(lambda: finding(gate, node, "resources", "resources.test_pod").get("status") == "pass")
    gate.until(lambda: gate.status(node, "access") == "pass")
    shown = f'findings{{id="access.ports@pod",node="{node}",pool="h100",probe="access.ports",status="pass"}}'
    assert number(gate, shown) == 8
    # What the pod was given goes with it.
    until(lambda: kubelet.secrets() == [])


def test_what_a_pod_was_given_together_is_told_and_collected(
    kubelet: Kubelet, node: str, namespace: str, make_gate: MakeGate, make_agent: Callable[..., Served], tmp_path: Path
) -> None:
    agreed = plan_for(namespace, node)
    agreed["pools"][0]["checks"] |= {
        "placement.allocated": {"hcas": "compute", "within": "PXB"},
        "placement.allocations": {},
    }
    kubelet.host_root = with_gpus(tmp_path / "given", given=[0, 1, 2])
    gate = make_gate(agreed, make_agent(node).start()).start()
    pod = kubelet.bound(node)
    gate.until(lambda: finding(gate, node, "placement", "placement.allocations").get("reason") == "alloc_no_pod")

    kubelet.start(pod, "127.0.0.4")
    kubelet.let_go(pod)

    # The page shows a probe once, with the worst of its findings.
    gate.until(lambda: finding(gate, node, "placement", "placement.allocated").get("status") == "pass")
    gate.until(
        lambda: finding(gate, node, "placement", "placement.allocations").get("reason") == "alloc_sample_incomplete"
    )
    told = finding(gate, node, "placement", "placement.allocations")["summary"]
    assert told.startswith("allocations: 3 of 8 devices given in 1 test pods found, ")


def with_gpus(folder: Path, given: list[int]) -> Path:
    """The node's machine as a pod sees it that has the device nodes of these GPUs."""
    hosts = runpy.run_path(str(REPOSITORY / "tests/fixtures/hosts/make_hosts.py"))
    machine = hosts["h100x8"]()
    for number in range(8):
        path = f"/proc/driver/nvidia/gpus/{hosts['gpu_address'](number)}/information"
        machine.texts[path] = f"GPU UUID: GPU-{number}\nDevice Minor: {number}"
    machine.texts |= {f"/dev/nvidia{number}.dev": "195:0 ok" for number in given}
    found: Path = machine.write(folder)
    return found


def test_what_the_agent_of_a_node_sees_is_no_proof_of_what_a_pod_sees(
    node: str, namespace: str, make_gate: MakeGate, make_agent: Callable[..., Served]
) -> None:
    agreed = plan_for(namespace, node)
    del agreed["pools"][0]["test_pods"]
    gate = make_gate(agreed, make_agent(node).start()).start()

    gate.until(lambda: finding(gate, node, "access", "access.ports").get("reason") == "wrong_vantage")

    gate.until(lambda: gate.status(node, "access") == "unknown")
    assert number(gate, "test_pods_outstanding") == 0


def test_a_plan_that_enables_no_tests_makes_no_pod_and_the_page_says_why(
    kubelet: Kubelet, node: str, namespace: str, make_gate: MakeGate
) -> None:
    agreed = plan_for(namespace, node)
    agreed["budget"] = {"tests_enabled": False}
    gate = make_gate(agreed).start()

    wanted = "kubernetes: test pods: a plan without tests_enabled found, so none are made"
    gate.until(lambda: wanted in gate.gate()["problems"])

    assert kubelet.pods() == []


def test_under_another_plan_the_pod_of_the_old_one_goes_and_a_new_one_is_made(
    kubelet: Kubelet, node: str, namespace: str, make_gate: MakeGate
) -> None:
    gate = make_gate(plan_for(namespace, node)).start()
    old = kubelet.bound(node)
    (gate.folder / "plan.yaml").write_text(json.dumps(plan_for(namespace, node, labels={"team": "a"})))
    gate.signal(signal.SIGHUP)
    kubelet.let_go(old)

    assert kubelet.bound(node)["metadata"]["labels"]["team"] == "a"
    gate.until(lambda: number(gate, "test_pods_outstanding") == 1)


def test_what_a_pod_told_outlives_an_edit_beside_it_and_an_edited_template_makes_a_new_pod_at_once(
    kubelet: Kubelet, node: str, namespace: str, make_gate: MakeGate, make_agent: Callable[..., Served]
) -> None:
    gate = make_gate(plan_for(namespace, node), make_agent(node).start()).start()
    pod = kubelet.bound(node)
    kubelet.start(pod, "127.0.0.5")
    kubelet.let_go(pod)
    gate.until(lambda: outcome(gate, node) == ("pass", ""))

    edit(gate, {**plan_for(namespace, node, every="2h"), "cluster": "lab-2"})
    assert (outcome(gate, node), gate.status(node, "access")) == (("pass", ""), "pass")

    template = json.loads(json.dumps(WORKLOAD).replace("workload:1", "workload:2"))
    edit(gate, {**plan_for(namespace, node, template=template), "cluster": "lab-3"})
    assert (outcome(gate, node), gate.status(node, "access")) == (("stale", "stale"), "stale")
    assert kubelet.bound(node)["spec"]["containers"][0]["image"] == "example.com/workload:2"


def test_pods_that_are_taken_away_one_after_the_other_are_counted(
    kubelet: Kubelet, node: str, namespace: str, make_gate: MakeGate, make_agent: Callable[..., Served]
) -> None:
    gate = make_gate(plan_for(namespace, node), make_agent(node).start()).start()
    kubelet.forget(kubelet.bound(node))
    gate.until(lambda: outcome(gate, node) == ("unknown", "evicted"))
    # The next one would come in a minute; with another label it comes at once.
    edit(gate, {**plan_for(namespace, node, labels={"team": "a"}), "cluster": "lab-2"})
    kubelet.forget(kubelet.bound(node))
    gate.until(lambda: outcome(gate, node) == ("unknown", "evicted"))
    gate.signal(signal.SIGTERM)
    assert gate.exit_code() == 0
    records = json.loads((gate.folder / "state" / "ledger.json").read_text())["records"]
    (run,) = [one["run"] for one in records if one["run"]["id"] == "resources.test_pod"]
    assert run["findings"][0]["facts"] == {"disrupted_in_a_row": "2"}


def outcome(gate: Served, node: str) -> tuple[str, str]:
    found = finding(gate, node, "resources", "resources.test_pod")
    return found.get("status", ""), found.get("reason", "")


def edit(gate: Served, plan: dict[str, Any]) -> None:
    """Give the gate a plan of another cluster's name, and wait until it judges by it."""
    (gate.folder / "plan.yaml").write_text(json.dumps(plan))
    gate.signal(signal.SIGHUP)
    gate.until(lambda: gate.gate()["cluster"] == plan["cluster"])


def test_a_gate_that_was_killed_leaves_a_pod_which_the_next_one_removes_before_it_makes_its_own(
    kubelet: Kubelet, node: str, namespace: str, make_gate: MakeGate
) -> None:
    gate = make_gate(plan_for(namespace, node)).start()
    left = kubelet.bound(node)
    kubelet.start(left, "127.0.0.3")
    gate.signal(signal.SIGKILL)
    gate.exit_code()

    other = make_gate(plan_for(namespace, node), name="other").start()
    kubelet.let_go(left)

    pod = kubelet.bound(node)
    assert pod["metadata"]["uid"] != left["metadata"]["uid"]
    other.until(lambda: number(other, "test_pods_outstanding") == 1)


def test_a_gate_that_ends_or_is_paused_lets_no_pod_hold_its_devices(
    kubelet: Kubelet, node: str, namespace: str, make_gate: MakeGate
) -> None:
    gate = make_gate(plan_for(namespace, node)).start()
    first = kubelet.bound(node)
    (gate.folder / "state" / "pause").write_text("ana\n")
    kubelet.let_go(first)
    gate.until(lambda: number(gate, "test_pods_outstanding") == 0)

    (gate.folder / "state" / "pause").unlink()
    second = kubelet.bound(node)
    gate.signal(signal.SIGTERM)
    assert gate.exit_code() == 0
    kubelet.let_go(second)
    assert kubelet.pods() == []
