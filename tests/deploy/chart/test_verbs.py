"""Each verb that the chart grants for reading is needed, and its absence is said: real roles, a real API server."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest

from deploy.kube.api import Api, until
from deploy.kube.assets import Assets
from deploy.kube.cluster import ApiServer
from exporter.clock import SystemClock
from exporter.cluster.configuration import configure_by
from exporter.cluster.connection import Connection
from exporter.cluster.facts import ClusterFacts
from exporter.cluster.membership import Membership
from exporter.settings import KubernetesSettings
from probes._cluster import Unread
from tests.deploy.chart.rendering import NAMESPACE, Helm, Json
from tests.kube import objects

PLUGINS, WORKLOADS = "nvidia-network-operator", "training"
NARROW = {"plugins": [{"namespace": PLUGINS, "configMaps": ["rdma-devices"]}], "workloads": [WORKLOADS]}
WIDE = {**NARROW, "podsEverywhere": True}
LIMIT_SECONDS = 120.0
RBAC = "/apis/rbac.authorization.k8s.io/v1"
# What takes an operator's CRD is not there to be asked for, and the Lease is another test's.
WITHOUT_CRD = ("", "apps", "resource.k8s.io", "discovery.k8s.io")


@dataclass(frozen=True)
class Verb:
    """One verb on one resource; ``place`` is the namespace of its role, empty for the cluster's."""

    role: str
    place: str
    resource: str
    verb: str

    def __str__(self) -> str:
        return f"{self.verb} {self.resource} {self.place}".strip()


# As the chart grants them; that the two are the same is a test of its own.
READ = [
    *(Verb("rdma-gate-rdma-gate", "", "nodes", verb) for verb in ("list", "watch")),
    *(Verb("rdma-gate-rdma-gate", "", "daemonsets", verb) for verb in ("list", "watch")),
    *(Verb("rdma-gate-rdma-gate", "", "pods", verb) for verb in ("list", "watch")),
    *(Verb("rdma-gate-rdma-gate", "", "resourceslices", verb) for verb in ("list", "watch")),
    *(Verb("rdma-gate-rdma-gate", "", "deviceclasses", verb) for verb in ("list", "watch")),
    *(Verb("rdma-gate", NAMESPACE, "endpointslices", verb) for verb in ("list", "watch")),
    *(Verb("rdma-gate-plugins", PLUGINS, "pods", verb) for verb in ("list", "watch")),
    *(Verb("rdma-gate-plugins", PLUGINS, "events", verb) for verb in ("list", "watch")),
    Verb("rdma-gate-plugins", PLUGINS, "configmaps", "get"),
    *(Verb("rdma-gate-workloads", WORKLOADS, "pods", verb) for verb in ("list", "watch")),
    *(Verb("rdma-gate-workloads", WORKLOADS, "events", verb) for verb in ("list", "watch")),
    Verb("rdma-gate-workloads", WORKLOADS, "namespaces", "get"),
    *(Verb("rdma-gate-workloads", WORKLOADS, "resourceclaims", verb) for verb in ("list", "watch")),
]


@dataclass
class Roles:
    """The chart's roles, given to a new account for each test, all of them or all but one verb."""

    api: Api
    server: ApiServer
    made: list[str] = field(default_factory=list)

    def account(self, rendered: list[Json], without: Verb | None = None) -> Path:
        """Return the kubeconfig of an account that has all verbs of the rendered roles but one."""
        name = f"gate-{len(self.made)}"
        self.made.append(name)
        self.api.post(f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts", {"metadata": {"name": name}})
        roles = [_without(role, without) for role in rendered if role["kind"] in ("ClusterRole", "Role")]
        for role in roles:
            self._grant(role, name)
        token = self.server.token(NAMESPACE, name)
        _wait_for(self.api.with_token(token), roles)
        return self.server.kubeconfig(token)

    def _grant(self, role: Json, account: str) -> None:
        kind, name = role["kind"], f"{account}-{role['metadata']['name']}"
        place = f"/namespaces/{role['metadata']['namespace']}" if kind == "Role" else ""
        metadata = {"name": name}
        self.api.post(f"{RBAC}{place}/{kind.lower()}s", {"metadata": metadata, "rules": role["rules"]})
        subjects = [{"kind": "ServiceAccount", "name": account, "namespace": NAMESPACE}]
        reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name}
        self.api.post(
            f"{RBAC}{place}/{kind.lower()}bindings",
            {"metadata": metadata, "subjects": subjects, "roleRef": reference},
        )


@pytest.fixture(scope="module")
def roles(assets: Assets) -> Iterator[Roles]:
    with ApiServer(assets) as server:
        for name in (NAMESPACE, PLUGINS, WORKLOADS):
            objects.namespace(server.api, name)
        plugin = objects.daemon_set("rdma-shared-dp-ds")
        plugin["spec"]["template"]["spec"]["volumes"] = [{"name": "c", "configMap": {"name": "rdma-devices"}}]
        server.api.post(f"/apis/apps/v1/namespaces/{PLUGINS}/daemonsets", plugin)
        server.api.post(f"/api/v1/namespaces/{PLUGINS}/configmaps", {"metadata": {"name": "rdma-devices"}})
        yield Roles(server.api, server)


def test_the_verbs_tried_here_are_all_that_the_chart_grants_for_reading(helm: Helm) -> None:
    granted = {
        Verb(role["metadata"]["name"], role["metadata"].get("namespace", ""), resource, verb)
        for role in helm.objects({"rbac": WIDE})
        if role["kind"] in ("ClusterRole", "Role")
        for rule in role["rules"]
        if set(rule["apiGroups"]) <= set(WITHOUT_CRD)
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }

    assert set(READ) == granted


@pytest.mark.parametrize("values", [NARROW, WIDE], ids=["narrow", "wide"])
async def test_with_the_charts_roles_nothing_is_left_unread(helm: Helm, roles: Roles, values: Json) -> None:
    gate = Gate(roles.account(helm.objects({"rbac": values})), everywhere="podsEverywhere" in values)

    async with gate.running():
        await gate.until(lambda: not gate.waits() or gate.refused())
        assert gate.unread() == ()


@pytest.mark.parametrize("verb", READ, ids=str)
async def test_without_one_verb_the_gate_names_it(helm: Helm, roles: Roles, verb: Verb) -> None:
    # Who may read the pods of all namespaces needs no other verb for pods.
    everywhere = verb.resource == "pods" and not verb.place
    rendered = helm.objects({"rbac": WIDE if everywhere else NARROW})
    gate = Gate(roles.account(rendered, verb), everywhere=everywhere)

    async with gate.running():
        await gate.until(lambda: gate.refused() and not gate.waits())
        said = gate.unread()

    assert {(one.resource.partition(".")[0], one.verb, one.reason, one.namespace) for one in said} == {
        (verb.resource, verb.verb, "rbac_denied", verb.place)
    }


class Gate:
    """What a gate with these credentials reads of its cluster."""

    def __init__(self, kubeconfig: Path, *, everywhere: bool) -> None:
        settings = KubernetesSettings(
            namespace=NAMESPACE,
            service_account=Path("/nowhere"),
            kubeconfig=kubeconfig,
            node_service="rdma-gate-nodes",
            test_namespaces=(WORKLOADS,),
            pods_everywhere=everywhere,
        )
        self._clock, self._changed = SystemClock(), asyncio.Event()
        self._connection = Connection(configure_by(settings, {}), self._clock.monotonic)
        self._facts = ClusterFacts(self._connection, settings, self._clock, is_plugin=lambda _: True)
        self._facts.listen(self._changed.set)
        self._membership = Membership(self._connection, settings, self._clock, self._changed.set)

    def unread(self) -> tuple[Unread, ...]:
        """Return what cannot be read now."""
        member = self._membership.unread
        return (*self._facts.unread(), *((member,) if member else ()))

    def refused(self) -> bool:
        return any(one.reason == "rbac_denied" for one in self.unread())

    def waits(self) -> bool:
        """Whether an answer is still to come."""
        return any(one.reason == "api_unreachable" for one in self.unread())

    async def until(self, holds: Callable[[], bool]) -> None:
        """Return once it holds; TimeoutError where nothing that changes makes it so."""
        async with asyncio.timeout(LIMIT_SECONDS):
            while not holds():
                await self._changed.wait()
                self._changed.clear()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        tasks = [asyncio.create_task(one.run()) for one in (self._facts, self._membership)]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await self._connection.close()


def _without(role: Json, verb: Verb | None) -> Json:
    """The role with one rule for each verb and resource, so that one alone can be left out."""
    metadata = role["metadata"]
    rules = [
        {**rule, "resources": [resource], "verbs": [one]}
        for rule in role["rules"]
        for resource in rule["resources"]
        for one in rule["verbs"]
        if Verb(metadata["name"], metadata.get("namespace", ""), resource, one) != verb
    ]
    return {**role, "rules": rules}


def _wait_for(api: Api, roles: list[Json]) -> None:
    """Return once the server grants all of it: it hears of roles a moment after they are made."""
    for role in roles:
        for rule in role["rules"]:
            wanted = {
                "namespace": role["metadata"].get("namespace", ""),
                "verb": rule["verbs"][0],
                "group": rule["apiGroups"][0],
                "resource": rule["resources"][0],
                "name": rule.get("resourceNames", [""])[0],
            }
            until(partial(_allowed, api, wanted))


def _allowed(api: Api, wanted: Json) -> bool:
    review = api.post(
        "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", {"spec": {"resourceAttributes": wanted}}
    )
    return bool(review["status"]["allowed"])
