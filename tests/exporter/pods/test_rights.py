"""Each verb that the chart grants for test pods is needed, and its absence is said with the API's own words."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from deploy.kube.api import until
from deploy.kube.cluster import ApiServer
from exporter.assignment import Claim
from exporter.clock import SystemClock
from exporter.cluster.configuration import configure_by
from exporter.cluster.connection import Connection
from exporter.cluster.errors import ApiRefusal
from exporter.plan import PlannedPods
from exporter.pods.api import PodsApi
from exporter.pods.leftovers import Leftovers
from exporter.pods.making import Making
from exporter.pods.manifest import manifest_of
from exporter.pods.one_pod import OnePod, Reporting
from exporter.settings import KubernetesSettings
from probes._workloads import Pod
from probes.resources.test_pod import judge
from tests.kube import objects

pytestmark = pytest.mark.kube

RBAC = "/apis/rbac.authorization.k8s.io/v1"
TEMPLATE = {"spec": {"containers": [{"name": "train", "image": objects.IMAGE}]}}
MAKING = Making("rdma-gate.rdma-gate", b"m" * 32, "rdma-gate:0.1.0", "rdma-gate-test", "0.0.0.0", 9842)
Json = dict[str, Any]
Without = Callable[[str, str], None]


@pytest.fixture
def without(server: ApiServer, account: Path, namespace: str) -> Without:
    """``without(verb, resource)`` takes that one verb from the gate's role in the test's namespace."""
    name = f"gate-{namespace}-rdma-gate-test-pods"
    path = f"{RBAC}/namespaces/{namespace}/roles/{name}"

    def take(verb: str, resource: str) -> None:
        rules = [
            {**rule, "resources": [one], "verbs": [word for word in rule["verbs"] if (word, one) != (verb, resource)]}
            for rule in server.api.get(path)["rules"]
            for one in rule["resources"]
        ]
        server.api.patch(path, {"rules": [rule for rule in rules if rule["verbs"]]})
        review = {"namespace": namespace, "verb": verb, "group": "", "resource": resource}
        user = {"user": f"system:serviceaccount:gate-of-{namespace}:gate-{namespace}"}
        spec = {"spec": {"resourceAttributes": review, **user}}
        asked = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
        until(lambda: not server.api.post(asked, spec)["status"]["allowed"])

    return take


@asynccontextmanager
async def connected(account: Path) -> AsyncIterator[PodsApi]:
    settings = KubernetesSettings("x", account, kubeconfig=account)
    connection = Connection(configure_by(settings, {}), SystemClock().monotonic)
    try:
        yield PodsApi(connection)
    finally:
        await connection.close()


def one_pod(api: PodsApi, namespace: str) -> OnePod:
    planned = PlannedPods(namespace, TEMPLATE)
    order = MAKING.order(planned, MAKING.mark("nowhere", Claim("gate-1", 1), 0.0, planned))
    silent = Reporting(client=lambda pod: None, follower=lambda client: None, done=lambda: False)  # type: ignore[arg-type,return-value]
    return OnePod(order, api, silent, SystemClock(), b"m" * 32, MAKING.listen)


@pytest.mark.parametrize("resource", ["pods", "secrets"])
async def test_without_the_right_to_make_one_the_finding_names_the_verb(
    account: Path, namespace: str, without: Without, resource: str
) -> None:
    # Whoever may list pods in the workload's namespace needs no second right for it.
    without("create", resource)

    async with connected(account) as api:
        found = judge(await one_pod(api, namespace).run())

    assert found.reason == "rbac_denied"
    assert f'cannot create resource "{resource}" in API group ""' in found.summary


async def test_without_the_right_to_look_at_one_or_to_delete_it_the_api_says_so(
    account: Path, namespace: str, without: Without
) -> None:
    async with connected(account) as api:
        pod = await api.create(manifest_of(one_pod(api, namespace).order))
        assert await api.get(pod) is not None
        for verb, ask in (("get", api.get), ("delete", api.delete)):
            without(verb, "pods")
            with pytest.raises(ApiRefusal, match=f'cannot {verb} resource "pods"'):
                await ask(pod)


async def test_leftovers_that_may_not_be_removed_are_counted_and_said(
    account: Path, namespace: str, without: Without
) -> None:
    async with connected(account) as api:
        await api.create(manifest_of(one_pod(api, namespace).order))
        without("delete", "pods")
        leftovers = Leftovers(api, MAKING.owner)

        assert await leftovers.sweep([namespace], ()) is False

    assert len(leftovers.there) == 1
    assert 'cannot delete resource "pods"' in leftovers.problem


async def test_pods_of_another_installation_and_those_in_care_are_left_alone(account: Path, namespace: str) -> None:
    async with connected(account) as api:
        ours = one_pod(api, namespace)
        made = await api.create(manifest_of(ours.order))
        others = Leftovers(api, "rdma-gate.other")

        assert await others.sweep([namespace], ()) is True
        assert await Leftovers(api, MAKING.owner).sweep([namespace], {ours.order.mark.id}) is True
        assert (await kept(api, made)) is not None
        assert others.there == ()


async def kept(api: PodsApi, pod: Pod) -> Pod | None:
    return await asyncio.wait_for(api.get(pod), 120)
