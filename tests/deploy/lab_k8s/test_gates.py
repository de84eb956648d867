"""How the driver finds the gates: it asks the API server, which may hang, only where it has no other way."""

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

from deploy.kube.api import Api
from deploy.lab.node import Node
from deploy.lab_k8s.cluster import Cluster
from deploy.lab_k8s.gates import ANSWER_LIMIT_SECONDS, Gates, View
from tests.deploy.lab_k8s.played import PlayedCluster, PlayedLab, PlayedNode, view


class AskedGates(Gates):
    """Gates that answer at once, and keep whom they were asked for."""

    def of(self, node: Node) -> View | None:
        played = cast("PlayedNode", node)
        cast("PlayedCluster", self.cluster).done.append(played.name)
        return played.next()


def test_those_whose_way_is_known_are_asked_first() -> None:
    nodes = PlayedNode("node-a", [None]), PlayedNode("node-b", [view({})])
    cluster = PlayedCluster(PlayedLab(nodes))
    assert AskedGates(cast("Cluster", cluster), {"node-b": "10.1.2.3"}).leading()[0] == "node-b"
    assert cluster.done == ["node-b"]


@dataclass
class HangingApi:
    """An API server that does not answer in time."""

    limits: list[float] = field(default_factory=list)
    limit_seconds: float = Api.limit_seconds

    def get(self, _path: str) -> Any:
        self.limits.append(self.limit_seconds)
        raise TimeoutError


def test_an_api_server_that_hangs_is_not_waited_for_long() -> None:
    api = HangingApi()
    cluster = SimpleNamespace(api=api)
    assert Gates(cast("Cluster", cluster), {}).of(cast("Node", PlayedNode("node-a", [None]))) is None
    assert api.limits == [ANSWER_LIMIT_SECONDS]
