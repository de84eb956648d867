"""What becomes of one pod, said by a real API server and scheduler with the chart's roles; the kubelet is played."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from deploy.kube.api import until
from exporter.assignment import Claim
from exporter.clock import SystemClock
from exporter.cluster.configuration import configure_by
from exporter.cluster.connection import Connection
from exporter.plan import PlannedPods
from exporter.pods.api import PodsApi
from exporter.pods.course import Patience
from exporter.pods.making import Making
from exporter.pods.one_pod import OnePod, Reporting
from exporter.settings import KubernetesSettings
from probes import Finding, Status
from probes.resources.test_pod import judge
from tests.exporter.pods.kubelet import Kubelet
from tests.kube import objects

pytestmark = pytest.mark.kube

HURRIED = Patience(look_seconds=0.05, schedule_seconds=3.0, start_seconds=3.0, removal_seconds=120.0)
Json = dict[str, Any]
Order = Callable[..., OnePod]


def workload(resources: Json | None = None, **spec: Any) -> Json:
    limits = {"nvidia.com/gpu": "8"} if resources is None else resources
    container = {"name": "train", "image": objects.IMAGE, "resources": {"limits": limits}}
    return {"spec": {"containers": [container], **spec}}


@pytest.fixture
async def pods_api(account: Path) -> AsyncIterator[PodsApi]:
    settings = KubernetesSettings("x", account, kubeconfig=account)
    connection = Connection(configure_by(settings, {}), SystemClock().monotonic)
    yield PodsApi(connection)
    await connection.close()


@pytest.fixture
def order(pods_api: PodsApi, namespace: str, node: str) -> Order:
    """``order(template)`` is a pod that never reports, for the test's node and namespace."""

    def make(template: Json) -> OnePod:
        making = Making("rdma-gate.rdma-gate", b"m" * 32, "rdma-gate:0.1.0", "rdma-gate-test", "0.0.0.0", 9842)
        planned = PlannedPods(namespace, template, limit_seconds=600.0)
        mark = making.mark(node, Claim("gate-1", 1), SystemClock().now(), planned)
        silent = Reporting(client=lambda pod: None, follower=lambda client: None, done=lambda: False)  # type: ignore[arg-type,return-value]
        made = making.order(planned, mark)
        return OnePod(made, pods_api, silent, SystemClock(), b"m" * 32, making.listen, patience=HURRIED)

    return make


async def became(pod: OnePod, *, playing: Callable[[], None] = lambda: None) -> Finding:
    """Run the pod while the kubelet plays in a thread; return the finding."""
    life, _ = await asyncio.gather(pod.run(), asyncio.to_thread(playing))
    return judge(life)


async def test_a_quota_refuses_with_the_apis_own_sentence(order: Order, kubelet: Kubelet, namespace: str) -> None:
    quota = {"metadata": {"name": "gpus"}, "spec": {"hard": {"requests.nvidia.com/gpu": "4"}}}
    kubelet.api.post(f"/api/v1/namespaces/{namespace}/resourcequotas", quota)
    path = f"/api/v1/namespaces/{namespace}/resourcequotas/gpus"
    kubelet.api.patch(f"{path}/status", {"status": {**quota["spec"], "used": {"requests.nvidia.com/gpu": "0"}}})

    found = await became(order(workload()))

    assert (found.status, found.reason) == (Status.FAIL, "quota_exceeded")
    assert "exceeded quota: gpus, requested: requests.nvidia.com/gpu=8" in found.summary
    assert kubelet.pods() == []
    assert kubelet.secrets() == []


async def test_a_namespace_whose_level_forbids_the_pod_refuses_it(
    order: Order, kubelet: Kubelet, namespace: str
) -> None:
    label = {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}}
    kubelet.api.patch(f"/api/v1/namespaces/{namespace}", label)

    found = await became(order(workload()))

    assert (found.status, found.reason) == (Status.FAIL, "admission_psa_denied")
    assert 'violates PodSecurity "restricted:latest"' in found.summary


async def test_a_restricted_workload_makes_a_restricted_test_pod(
    order: Order, kubelet: Kubelet, namespace: str, node: str
) -> None:
    label = {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}}
    kubelet.api.patch(f"/api/v1/namespaces/{namespace}", label)
    template = workload(securityContext={"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}})
    restricted = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    template["spec"]["containers"][0]["securityContext"] = restricted

    found = await became(order(template), playing=lambda: end_started(kubelet, node))

    assert found.reason == "runner_cannot_start"


async def test_a_limit_that_is_no_number_is_refused_as_the_api_says(order: Order) -> None:
    found = await became(order(workload({"nvidia.com/gpu": "half"})))

    assert (found.status, found.reason) == (Status.FAIL, "pod_refused")
    assert "quantities must match the regular expression" in found.summary


async def test_gpus_that_are_in_use_are_a_lack_of_capacity_and_no_fault(
    order: Order, kubelet: Kubelet, node: str, namespace: str
) -> None:
    other = objects.pod("other", {"limits": {"nvidia.com/gpu": "1"}})
    other["spec"]["nodeName"] = node
    kubelet.api.post(f"/api/v1/namespaces/{namespace}/pods", other)

    found = await became(order(workload()))

    assert (found.status, found.reason) == (Status.UNKNOWN, "insufficient_resource")
    assert "1 Insufficient nvidia.com/gpu" in found.summary


async def test_a_resource_that_no_node_has_is_told_from_a_lack_of_it(order: Order) -> None:
    pod = order(workload({"nvidia.com/gpus": "8"}))

    life = await pod.run()

    found = judge(replace(life, known=frozenset({"nvidia.com/gpu"})))
    assert (found.status, found.reason) == (Status.FAIL, "resource_name_unknown")


async def test_a_taint_of_the_node_is_named_and_not_the_affinity_that_leaves_the_others_out(
    order: Order, kubelet: Kubelet, node: str
) -> None:
    objects.node(kubelet.api, f"{node}-beside")
    taint = {"key": "nvidia.com/gpu", "effect": "NoSchedule"}
    kubelet.api.patch(f"/api/v1/nodes/{node}", {"spec": {"taints": [taint]}})

    found = await became(order(workload()))

    kubelet.api.ask("DELETE", f"/api/v1/nodes/{node}-beside")
    assert (found.status, found.reason) == (Status.FAIL, "taint")


@pytest.mark.parametrize(
    ("status", "wanted"),
    [
        ({"phase": "Failed", "reason": "Evicted", "message": "low on memory"}, ("unknown", "evicted")),
        (
            {"phase": "Failed", "reason": "UnexpectedAdmissionError", "message": "no healthy devices present"},
            ("fail", "admission_error"),
        ),
        (
            {"phase": "Failed", "reason": "TopologyAffinityError", "message": "Resources cannot be allocated"},
            ("fail", "topology_rejected"),
        ),
        ({"phase": "Failed", "reason": "OutOfnvidia.com/gpu", "message": "full"}, ("unknown", "out_of_resource")),
    ],
    ids=lambda one: one.get("reason") if isinstance(one, dict) else "",
)
async def test_what_the_kubelet_refuses_ends_the_pod_at_once(
    order: Order, kubelet: Kubelet, node: str, status: Json, wanted: tuple[str, str]
) -> None:
    found = await became(order(workload()), playing=lambda: say(kubelet, node, status))

    assert (found.status.value, found.reason) == wanted


async def test_an_image_that_cannot_be_pulled_is_named(order: Order, kubelet: Kubelet, node: str) -> None:
    waiting = {"waiting": {"reason": "ImagePullBackOff", "message": "Back-off pulling image"}}

    found = await became(order(workload()), playing=lambda: say(kubelet, node, container(waiting)))

    assert (found.status, found.reason) == (Status.FAIL, "image_not_pulled")


async def test_a_runner_that_cannot_start_in_the_image_is_unknown_and_says_so(
    order: Order, kubelet: Kubelet, node: str
) -> None:
    message = "exec /rdma-gate/ld.so: operation not permitted"
    ended = {"terminated": {"reason": "StartError", "exitCode": 128, "message": message}}

    found = await became(order(workload()), playing=lambda: say(kubelet, node, {"phase": "Failed", **container(ended)}))

    assert (found.status, found.reason) == (Status.UNKNOWN, "runner_cannot_start")
    assert message in found.summary


async def test_a_pod_that_somebody_deletes_is_unknown(order: Order, kubelet: Kubelet, node: str) -> None:
    def drain() -> None:
        pod = kubelet.bound(node)
        kubelet.forget(pod)

    found = await became(order(workload()), playing=drain)

    assert (found.status, found.reason) == (Status.UNKNOWN, "evicted")


async def test_a_pod_that_is_drained_is_unknown_however_its_containers_end(
    order: Order, kubelet: Kubelet, node: str, namespace: str
) -> None:
    test_pod = order(workload())

    def drain() -> None:
        pod = kubelet.bound(node)
        kubelet.api.ask("DELETE", f"/api/v1/namespaces/{namespace}/pods/{pod['metadata']['name']}")
        ended = {"terminated": {"reason": "Error", "exitCode": 143}}
        kubelet.say(pod, {"phase": "Failed", **container(ended)})
        until(lambda: test_pod.course is None or test_pod.course.pod.deleting)
        kubelet.forget(pod)

    found = await became(test_pod, playing=drain)

    assert (found.status, found.reason) == (Status.UNKNOWN, "evicted")


async def test_a_pod_that_will_not_go_away_is_said_to_be_there_still(order: Order, kubelet: Kubelet, node: str) -> None:
    pod = order(workload())
    pod.patience = replace(HURRIED, removal_seconds=0.2)

    def hold() -> None:
        bound = kubelet.bound(node)
        kubelet.patch(bound, {"metadata": {"finalizers": ["example.com/hold"]}})
        kubelet.say(bound, {"phase": "Failed", "reason": "Evicted"})

    found = await became(pod, playing=hold)

    assert (found.status, found.reason) == (Status.UNKNOWN, "evicted")
    assert "is still there found, none after its deletion wanted" in found.summary
    assert pod.course is not None
    kubelet.patch_all({"metadata": {"finalizers": None}})


def container(state: Json) -> Json:
    named = {"name": "train", "image": "", "imageID": "", "ready": False, "restartCount": 0}
    return {"containerStatuses": [{**named, "state": state}]}


def say(kubelet: Kubelet, node: str, status: Json) -> None:
    """Say it of the pod on this node, and let it go when it is to."""
    pod = kubelet.bound(node)
    kubelet.say(pod, status)
    kubelet.let_go(pod)


def end_started(kubelet: Kubelet, node: str) -> None:
    """The workload's container ends by itself."""
    pod = kubelet.bound(node)
    kubelet.say(pod, {"phase": "Succeeded", **container({"terminated": {"reason": "Completed", "exitCode": 0}})})
    kubelet.let_go(pod)
