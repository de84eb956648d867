"""Two gates in one cluster: one leads and shows, nodes come from the Service, a cordoned one is in maintenance."""

import asyncio
import signal
import threading
from concurrent.futures import Future

import pytest

from exporter.keys import node_key
from tests.exporter.cluster.conftest import write_kubeconfig
from tests.exporter.cluster.fake_api import FakeApi
from tests.exporter.program.conftest import PLAN

MASTER = "6d" * 32
LEASES = "/apis/coordination.k8s.io/v1/leases"
BY_LABEL = PLAN.replace("{names: [gpu-001]}", '{selector: "pool=h100"}')


class ApiThread:
    """The fake API with a loop of its own, since the programs are asked from this thread."""

    def __init__(self):
        self.api = FakeApi()
        self._up, self._down = threading.Event(), asyncio.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)
        self._thread.start()
        self._up.wait()

    async def _serve(self):
        self._loop = asyncio.get_running_loop()
        async with self.api.serving():
            self._up.set()
            await self._down.wait()

    def do(self, action):
        """Return what ``action`` of the API returns, called in its loop."""
        answer = Future()
        self._loop.call_soon_threadsafe(lambda: answer.set_result(action(self.api)))
        return answer.result()

    def end(self):
        self._loop.call_soon_threadsafe(self._down.set)
        self._thread.join()


@pytest.fixture
def kubernetes():
    thread = ApiThread()
    yield thread
    thread.end()


@pytest.fixture
def node(prepare, kubernetes):
    served = prepare("gpu-001", roles=["node"], node_key_file="node.key", vantage="pod")
    (served.folder / "node.key").write_text(node_key(MASTER.encode(), "gpu-001").hex())
    meta = {"namespace": "rdma-gate", "name": "a", "labels": {"kubernetes.io/service-name": "rdma-gate-nodes"}}
    end = {"nodeName": "gpu-001", "addresses": ["127.0.0.1"], "conditions": {"ready": True}}
    slice_ = {"metadata": meta, "endpoints": [end], "ports": [{"port": served.port}]}
    kubernetes.do(lambda api: api.put("/apis/discovery.k8s.io/v1/endpointslices", slice_))
    kubernetes.do(lambda api: api.put("/api/v1/nodes", kube_node()))
    return served


def kube_node(**spec):
    return {"metadata": {"name": "gpu-001", "uid": "u", "labels": {"pool": "h100"}}, "spec": spec}


@pytest.fixture
def make_gate(prepare, kubernetes):
    def make(name):
        served = prepare(name, roles=["gate"], plan="plan.yaml", key_file="master.key")
        served.settings["kubernetes"] = {"kubeconfig": "kubeconfig", "namespace": "rdma-gate"}
        write_kubeconfig(served.folder, kubernetes.api.url)
        (served.folder / "plan.yaml").write_text(BY_LABEL)
        (served.folder / "master.key").write_text(MASTER)
        return served

    return make


def leads(gate):
    return b"rdma_gate_leader 1.0\n" in gate.get("/metrics")


def holder(kubernetes):
    return kubernetes.do(lambda api: api.get(LEASES, "rdma-gate", "rdma-gate"))["spec"]["holderIdentity"]


def test_a_node_of_the_service_is_followed_and_a_cordon_is_maintenance(kubernetes, node, make_gate):
    node.start()
    gate = make_gate("gate").start()
    gate.until(lambda: gate.status("gpu-001", "access") == "pass")
    kubernetes.do(lambda api: api.put("/api/v1/nodes", kube_node(unschedulable=True)))
    gate.until(lambda: gate.node("gpu-001")["state"] == "maintenance")
    assert gate.status("gpu-001", "access") == "maintenance"
    assert b'rdma_gate_pool_nodes{pool="h100",state="maintenance"} 1.0' in gate.get("/metrics")
    kubernetes.do(lambda api: api.put("/api/v1/nodes", kube_node()))
    gate.until(lambda: gate.status("gpu-001", "access") == "pass")


def test_a_node_that_the_plan_selects_and_that_never_had_a_pod_is_missing_and_closes_the_pool(
    kubernetes, node, make_gate
):
    second = {"metadata": {"name": "gpu-002", "uid": "v", "labels": {"pool": "h100"}}}
    kubernetes.do(lambda api: api.put("/api/v1/nodes", second))
    node.start()
    gate = make_gate("gate").start()
    gate.until(lambda: gate.node("gpu-002")["state"] == "missing")
    gate.until(lambda: gate.status("gpu-001", "access") == "pass")
    assert gate.status("gpu-002", "access") == "missing"
    assert b'rdma_gate_pool_nodes{pool="h100",state="missing"} 1.0' in gate.get("/metrics")


def test_of_two_gates_the_second_shows_nothing_until_the_first_ends_and_hands_over(kubernetes, node, make_gate):
    node.start()
    first = make_gate("gate-a").start()
    first.until(lambda: leads(first) and first.status("gpu-001", "access") == "pass")
    second = make_gate("gate-b").start()
    second.until(lambda: b"rdma_gate_leader 0.0\n" in second.get("/metrics"))
    assert b"rdma_gate_open" not in second.get("/metrics")
    assert holder(kubernetes).startswith("gate-a_")
    first.signal(signal.SIGTERM)
    assert first.exit_code() == 0
    second.until(lambda: leads(second) and second.status("gpu-001", "access") == "pass")
    assert holder(kubernetes).startswith("gate-b_")


def test_what_may_not_be_read_stands_on_the_page_with_its_verb(kubernetes, node, make_gate):
    def forbid(api):
        from tests.exporter.cluster.fake_api import Fault

        api.faults.append(Fault("daemonsets", 403, times=10**6, message="no role"))

    kubernetes.do(forbid)
    gate = make_gate("gate").start()
    wanted = "kubernetes: list daemonsets.apps: no role found, an answer wanted"
    gate.until(lambda: wanted in gate.gate()["problems"])


def test_a_planned_probe_of_the_cluster_judges_each_node_and_again_when_the_api_says_otherwise(
    kubernetes, node, make_gate
):
    def advertise(count):
        amounts = {"rdma/hca": count}
        ready = [{"type": "Ready", "status": "True"}]
        status = {"capacity": amounts, "allocatable": amounts, "conditions": ready}
        kubernetes.do(lambda api: api.put("/api/v1/nodes", {**kube_node(), "status": status}))

    advertise("1k")
    gate = make_gate("gate")
    settings = (
        "visibility.allocatable: {resources: {rdma/hca: 1000}, from_config: false, settle: 0s, every: 1h, fresh: 2h}"
    )
    (gate.folder / "plan.yaml").write_text(f"{BY_LABEL}      {settings}\n")
    gate.start()
    found = (
        'rdma_gate_findings{{id="visibility.allocatable",node="gpu-001",pool="h100",probe="visibility.allocatable",{}}}'
    )
    gate.until(lambda: found.format('status="pass"').encode() in gate.get("/metrics"))
    advertise("0")
    gate.until(lambda: found.format('status="fail"').encode() in gate.get("/metrics"))
