"""Each verb that telling the cluster takes is needed, and its absence is said: the chart's roles, a real API server."""

from collections.abc import Iterator

import pytest

from deploy.kube.assets import Assets
from deploy.kube.cluster import ApiServer
from exporter.clock import SystemClock
from exporter.cluster.configuration import configure_by
from exporter.cluster.connection import Connection
from exporter.outward.due import TYPE
from exporter.outward.events import GateEvents
from exporter.outward.node_conditions import NodeConditions
from exporter.settings import KubernetesSettings
from probes._cluster import KubeNode
from tests.deploy.chart.rendering import NAMESPACE, Helm
from tests.deploy.chart.test_verbs import Roles, Verb
from tests.exporter.outward.conftest import node_verdict, verdict
from tests.kube import objects

VALUES = {"outward": {"nodeConditions": True, "events": True}}
CONDITIONS = Verb("rdma-gate-rdma-gate-conditions", "", "nodes/status", "patch")
POOLS, NODES = ("rdma-gate-pool-events", NAMESPACE), ("rdma-gate-rdma-gate-node-events", "default")
EVENTS = [Verb(*place, "events", verb) for place in (POOLS, NODES) for verb in ("create", "patch")]
UP = verdict(node_verdict("gpu-1"))
DOWN = verdict(node_verdict("gpu-1", "failed", "port_down"))


@pytest.fixture(scope="module")
def roles(assets: Assets) -> Iterator[Roles]:
    with ApiServer(assets) as server:
        objects.namespace(server.api, NAMESPACE)
        objects.node(server.api, "gpu-1", {"rdma/hca": "1k"})
        yield Roles(server.api, server)


class Told:
    """What a gate with these rights tells of one node that goes down, comes up and goes down again."""

    def __init__(self, roles: Roles, helm: Helm, without: Verb | None = None) -> None:
        kubeconfig = roles.account(helm.objects(VALUES), without)
        settings = KubernetesSettings(NAMESPACE, kubeconfig.parent, kubeconfig)
        clock = SystemClock()
        self.connection = Connection(configure_by(settings, {}), clock.monotonic)
        uid = roles.api.get("/api/v1/nodes/gpu-1")["metadata"]["uid"]
        nodes = {"gpu-1": KubeNode("gpu-1", uid)}
        self.conditions = NodeConditions(self.connection, clock, lambda: nodes, lambda: True)
        place = (NAMESPACE, f"lease-{len(roles.made)}")
        self.events = GateEvents(self.connection, clock, place, lambda: nodes, lambda: True, "gate")
        self.problems: list[str] = []

    async def tell(self) -> "Told":
        self.conditions.show(DOWN)
        await self.conditions.step()
        for shown in (UP, DOWN, UP, DOWN):
            self.events.show(shown)
            await self.events.step()
            self.problems += [self.events.problem] if self.events.problem else []
        self.problems += [self.conditions.problem] if self.conditions.problem else []
        await self.connection.close()
        return self


async def test_with_the_charts_roles_both_are_written(helm: Helm, roles: Roles) -> None:
    told = await Told(roles, helm).tell()

    assert told.problems == []
    conditions = roles.api.get("/api/v1/nodes/gpu-1")["status"]["conditions"]
    assert [one["reason"] for one in conditions if one["type"] == TYPE] == ["PortDown"]
    events = roles.api.get("/api/v1/namespaces/default/events")["items"]
    assert {(one["reason"], one["count"]) for one in events} == {("RDMANodeClosed", 2), ("RDMANodeOpened", 1)}


@pytest.mark.parametrize("verb", [CONDITIONS, *EVENTS], ids=str)
async def test_without_one_verb_its_absence_is_said(helm: Helm, roles: Roles, verb: Verb) -> None:
    told = await Told(roles, helm, verb).tell()

    assert told.problems
    assert all(f'cannot {verb.verb} resource "{verb.resource}"' in one for one in told.problems), told.problems


def test_the_verbs_tried_here_are_all_that_these_options_bring(helm: Helm) -> None:
    def granted(values: dict[str, object]) -> set[Verb]:
        return {
            Verb(one["metadata"]["name"], one["metadata"].get("namespace", ""), resource, verb)
            for one in helm.objects(values)
            if one["kind"] in ("ClusterRole", "Role")
            for rule in one["rules"]
            for resource in rule["resources"]
            for verb in rule["verbs"]
        }

    assert granted(VALUES) - granted({}) == {CONDITIONS, *EVENTS}
