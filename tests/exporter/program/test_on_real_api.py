"""Gates, a node and a real API server: maintenance, departure, conditions, Events, and who speaks after a crash."""

import asyncio
import json
import signal
import time
from contextlib import suppress

import aiohttp
import pytest

from deploy.kube.cluster import ApiServer
from exporter.fabric.node_client import Address, NodeClient
from exporter.keys import node_key
from tests.exporter.program.conftest import PLAN
from tests.kube import objects

MASTER = "6d" * 32
NODE = "/api/v1/nodes/gpu-001"
SLICES = "/apis/discovery.k8s.io/v1/namespaces/rdma-gate/endpointslices"
LEASE = "/apis/coordination.k8s.io/v1/namespaces/rdma-gate/leases/rdma-gate"
# Of what a node's agent sees, placement counts in a cluster; access is for test pods to say.
PATHS = "      placement.paths: {hcas: compute, rule: each_gpu_has_nic, within: PXB, gpus: 8, every: 2s}\n"
BY_LABEL = PLAN.replace("{names: [gpu-001]}", '{selector: "pool=h100"}') + PATHS
OTHER_CHECKS = ("visibility", "access", "resources", "runtime", "connectivity", "transfers")
TYPE = "rdma-gate.io/RDMAReady"


@pytest.fixture(scope="module")
def server(assets):
    with ApiServer(assets) as started:
        objects.namespace(started.api, "rdma-gate")
        yield started


@pytest.fixture
def node(server, prepare):
    """The node role of gpu-001, known to the cluster as a Node and as an endpoint; both go with the test."""
    served = prepare("gpu-001", roles=["node"], node_key_file="node.key", vantage="pod")
    (served.folder / "node.key").write_text(node_key(MASTER.encode(), "gpu-001").hex())
    objects.node(server.api, "gpu-001", {"rdma/hca": "1k"})
    server.api.patch(NODE, {"metadata": {"labels": {"pool": "h100"}}})
    slice_ = {
        "metadata": {"name": "nodes", "labels": {"kubernetes.io/service-name": "rdma-gate-nodes"}},
        "addressType": "IPv4",
        # The API refuses loopback addresses, so the gate's settings say where the node really is.
        "endpoints": [{"nodeName": "gpu-001", "addresses": ["192.0.2.1"], "conditions": {"ready": True}}],
        "ports": [{"name": "http", "port": served.port}],
    }
    server.api.post(SLICES, slice_)
    yield served.start()
    for path in (NODE, f"{SLICES}/nodes", LEASE):
        server.api.ask("DELETE", path)


@pytest.fixture
def make_gate(server, prepare):
    def make(name, **kubernetes):
        served = prepare(name, roles=["gate"], plan="plan.yaml", decisions="decisions.yaml", key_file="master.key")
        kubeconfig = str(server.kubeconfig(server.api.token))
        served.settings["kubernetes"] = {"kubeconfig": kubeconfig, "namespace": "rdma-gate", **kubernetes}
        (served.folder / "plan.yaml").write_text(BY_LABEL)
        (served.folder / "decisions.yaml").write_text(json.dumps({"decisions": [*map(decision, OTHER_CHECKS)]}))
        (served.folder / "master.key").write_text(MASTER)
        return served

    return make


@pytest.fixture
def reached(node, make_gate):
    """``reached(name)`` starts a gate that reaches the node, whose labels are those of the Node object."""

    def make(name, **kubernetes):
        served = make_gate(name, **kubernetes)
        served.settings["members"] = [{"name": "gpu-001", "url": node.url, "labels": {"pool": "h100"}}]
        return served.start()

    return make


def decision(check):
    return {
        "id": f"no-{check}",
        "kind": "not_applicable",
        "check": check,
        "scope": "all",
        "requester": "ana",
        "owner": "platform",
        "approver": "bo",
        "justification": "a test has no such thing",
        "compensating_control": "none needed",
        "expires": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 86400)),
    }


def condition(server):
    conditions = server.api.get(NODE)["status"]["conditions"]
    return next((one for one in conditions if one["type"] == TYPE), {})


def events(server, namespace, **about):
    every = server.api.get(f"/api/v1/namespaces/{namespace}/events")["items"]
    return [one for one in every if about.items() <= one["involvedObject"].items()]


def leads(gate):
    return b"rdma_gate_leader 1.0\n" in gate.get("/metrics")


def term_of(server):
    return server.api.get(LEASE)["spec"]["leaseTransitions"]


def test_a_cordon_is_maintenance_and_the_node_keeps_its_place(server, reached):
    gate = reached("gate")
    gate.until(lambda: gate.node("gpu-001")["is_open"])
    server.api.patch(NODE, {"spec": {"unschedulable": True}})
    gate.until(lambda: gate.node("gpu-001")["state"] == "maintenance")
    assert b'rdma_gate_pool_nodes{pool="h100",state="maintenance"} 1.0' in gate.get("/metrics")
    server.api.patch(NODE, {"spec": {"unschedulable": None}})
    gate.until(lambda: gate.node("gpu-001")["is_open"])


def test_a_node_that_is_being_deleted_is_maintenance_until_it_is_gone(server, reached):
    gate = reached("gate")
    gate.until(lambda: gate.node("gpu-001")["is_open"])
    server.api.patch(NODE, {"metadata": {"finalizers": ["example.com/drain"]}})
    server.api.ask("DELETE", NODE)
    gate.until(lambda: gate.node("gpu-001")["state"] == "maintenance")
    server.api.patch(NODE, {"metadata": {"finalizers": None}})
    gate.until(lambda: gate.node("gpu-001")["state"] != "maintenance")


def test_a_node_that_leaves_the_cluster_is_missing_and_not_dropped_until_files_are_read_again(server, node, make_gate):
    gate = make_gate("gate").start()
    gate.until(lambda: gate.node("gpu-001")["state"] in ("silent", "unknown"))
    server.api.ask("DELETE", NODE)
    server.api.ask("DELETE", f"{SLICES}/nodes")
    gate.until(lambda: gate.node("gpu-001")["state"] == "missing")
    cells = gate.node("gpu-001")["cells"]
    assert "its Node is no longer in the cluster" in next(one["why"] for one in cells if one["check"] == "placement")
    assert b'rdma_gate_pool_nodes{pool="h100",state="missing"} 1.0' in gate.get("/metrics")
    gate.signal(signal.SIGHUP)
    gate.until(lambda: gate.gate()["pools"][0]["nodes"] == [])


def test_the_condition_follows_the_gate_and_leaves_the_rest_of_the_status_alone(server, reached):
    before = server.api.get(NODE)["status"]
    gate = reached("gate", node_conditions=True)
    gate.until(lambda: condition(server).get("status") == "True")
    said = condition(server)
    assert said["reason"] == "AllChecksOpen"
    assert said["message"].startswith("gpu-001: 7 checks open, visibility and ")
    assert said["lastHeartbeatTime"] == said["lastTransitionTime"]
    (gate.folder / "plan.yaml").write_text(BY_LABEL.replace("gpus: 8", "gpus: 9"))
    gate.signal(signal.SIGHUP)
    gate.until(lambda: condition(server)["status"] == "False")
    said = condition(server)
    assert said["reason"] == "GpuMissing", said
    assert said["message"] == "check placement failed: gpu: 8 found, 9 wanted"
    after = server.api.get(NODE)
    assert [one for one in after["status"]["conditions"] if one["type"] != TYPE] == before["conditions"]
    assert after["status"]["capacity"] == before["capacity"]
    owned = next(one for one in after["metadata"]["managedFields"] if one["manager"] == "rdma-gate")
    assert list(owned["fieldsV1"]) == ["f:status"]
    assert list(owned["fieldsV1"]["f:status"]) == ["f:conditions"]
    assert list(owned["fieldsV1"]["f:status"]["f:conditions"]) == [f'k:{{"type":"{TYPE}"}}']


def test_a_gate_that_ends_leaves_the_condition_as_it_is(server, reached):
    gate = reached("gate", node_conditions=True)
    gate.until(lambda: condition(server).get("status") == "True")
    gate.signal(signal.SIGTERM)
    assert gate.exit_code() == 0
    assert condition(server)["status"] == "True"


def test_without_the_setting_nothing_is_written(server, reached):
    gate = reached("gate")
    gate.until(lambda: gate.node("gpu-001")["is_open"])
    gate.signal(signal.SIGTERM)
    assert gate.exit_code() == 0
    assert condition(server) == {}
    assert events(server, "rdma-gate", kind="Lease") == []


def test_a_closed_node_and_its_pool_are_told_as_events(server, reached):
    gate = reached("gate", events=True)
    gate.until(lambda: gate.node("gpu-001")["is_open"] and "Events on what changes from here on" in gate.log)
    (gate.folder / "plan.yaml").write_text(BY_LABEL.replace("gpus: 8", "gpus: 9"))
    gate.signal(signal.SIGHUP)
    closed = lambda: [  # noqa: E731
        one for one in events(server, "default", kind="Node", name="gpu-001") if one["reason"] == "RDMANodeClosed"
    ]
    gate.until(closed)
    (event,) = closed()
    assert (event["type"], event["source"]["component"], event["count"]) == ("Warning", "rdma-gate", 1)
    assert event["message"].startswith("GpuMissing: check placement failed: ")
    assert event["involvedObject"]["uid"] == server.api.get(NODE)["metadata"]["uid"]
    pools = events(server, "rdma-gate", kind="Lease", name="rdma-gate")
    assert [one["reason"] for one in pools if one["type"] == "Warning"] == ["RDMAPoolClosed"]


def test_after_a_crash_of_the_leader_the_other_takes_over_and_nodes_refuse_the_old_term(server, node, reached, capsys):
    first = reached("gate-a")
    first.until(lambda: leads(first) and first.node("gpu-001")["is_open"])
    second = reached("gate-b")
    second.until(lambda: b"rdma_gate_leader 0.0\n" in second.get("/metrics"))
    assert b"rdma_gate_open" not in second.get("/metrics")
    old_term, began = term_of(server), time.monotonic()
    first.signal(signal.SIGKILL)
    second.until(lambda: leads(second))
    took_seconds = time.monotonic() - began
    second.until(lambda: second.node("gpu-001")["is_open"])
    with capsys.disabled():
        print(f"\ntakeover after SIGKILL: {took_seconds:.1f} s")
    assert term_of(server) == old_term + 1
    status, said = asyncio.run(ask_as(node, old_term))
    assert (status, said["reason"]) == (409, "old_term"), said
    assert asyncio.run(ask_as(node, old_term + 1))[1].get("reason") != "old_term"


def test_a_leader_that_was_stopped_for_a_while_shows_nothing_once_another_leads(server, node, reached):
    first = reached("gate-a")
    first.until(lambda: leads(first) and first.node("gpu-001")["is_open"])
    second = reached("gate-b")
    first.signal(signal.SIGSTOP)
    second.until(lambda: leads(second))
    first.signal(signal.SIGCONT)
    first.until(lambda: b"rdma_gate_leader 0.0\n" in first.get("/metrics"))
    assert b"rdma_gate_open" not in first.get("/metrics")
    assert leads(second)


async def ask_as(node, term):
    """Ask the node for its records as a gate of that term; return status and problem."""
    key = node_key(MASTER.encode(), "gpu-001")
    async with aiohttp.ClientSession() as session:
        client = NodeClient(session, Address("gpu-001", node.url, key), time.time)
        answer = await client.ask("GET", f"/v1/records?after=-1&gate=late&term={term}", limit_seconds=60)
    with suppress(ValueError):
        return answer.status, json.loads(answer.body)
    return answer.status, {}
