"""What the gate asks of the API about test pods: make one, look at it, delete it, find those that are left."""

from collections.abc import Iterable
from typing import Any, TypeVar

import msgspec

from exporter.cluster import kinds
from exporter.cluster.connection import Connection
from exporter.cluster.errors import ApiRefusal, ApiUnreachable
from exporter.cluster.kinds import Kind
from exporter.cluster.source import Source, list_all
from exporter.cluster.wire import events, pods
from exporter.pods.manifest import GRACE_SECONDS
from probes._workloads import Event, Pod

Json = dict[str, Any]
F = TypeVar("F")


class _Events(msgspec.Struct, frozen=True):
    items: tuple[events.Event, ...] | None = None


_events = msgspec.json.Decoder(_Events)
_pod = msgspec.json.Decoder(pods.Pod)


class PodsApi:
    """Every method raises ApiRefusal, Expired or ApiUnreachable, as its connection does."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def create(self, pod: Json) -> Pod:
        """Make the pod; return it as the API made it."""
        return _read(await self._connection.send("POST", _path(pod["metadata"]["namespace"]), pod))

    async def create_secret(self, secret: Json) -> None:
        """Make the Secret; nobody here can read it again."""
        await self._connection.send("POST", f"/api/v1/namespaces/{secret['metadata']['namespace']}/secrets", secret)

    async def get(self, pod: Pod) -> Pod | None:
        """Return the pod as it is now; None where that very pod is gone."""
        try:
            found = _read(await self._connection.get(_path(pod.namespace, pod.name)))
        except ApiRefusal as refused:
            if refused.status == 404:
                return None
            raise
        return found if found.uid == pod.uid else None

    async def delete(self, pod: Pod, limit_seconds: float = 0.0) -> None:
        """Ask for that very pod's end; one that is gone already is as good."""
        body = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "gracePeriodSeconds": GRACE_SECONDS,
            "preconditions": {"uid": pod.uid},
        }
        try:
            await self._connection.send("DELETE", _path(pod.namespace, pod.name), body, limit=limit_seconds)
        except ApiRefusal as refused:
            if refused.status not in (404, 409):
                raise

    async def marked(self, namespace: str, selector: str) -> list[Pod]:
        """Return the pods there with these labels."""
        return await self._all(Source(kinds.PODS, namespace, selector))

    async def events(self, pod: Pod) -> tuple[Event, ...]:
        """Return what is told of that pod."""
        query = {"fieldSelector": f"involvedObject.uid={pod.uid}"}
        found = _events.decode(await self._connection.get(f"/api/v1/namespaces/{pod.namespace}/events", query))
        return tuple(kinds.EVENTS.read(one, None, 0.0) for one in found.items or ())

    async def _all(self, source: Source[F]) -> list[F]:
        found: list[F] = []
        kind: Kind[F] = source.kind
        await list_all(self._connection, source, kind.versions[0], lambda one: found.append(kind.read(one, None, 0.0)))
        return found


def devices_of(pods: Iterable[Pod]) -> dict[str, int]:
    """Return how many devices these pods ask for together, by resource."""
    total: dict[str, int] = {}
    for pod in pods:
        for one in pod.spec.containers:
            for name, count in one.limits.items():
                total[name] = total.get(name, 0) + count
    return total


def _read(body: bytes) -> Pod:
    try:
        return kinds.PODS.read(_pod.decode(body), None, 0.0)
    except msgspec.DecodeError as error:
        raise ApiUnreachable(f"pod: {error}, a pod wanted") from error


def _path(namespace: str, name: str = "") -> str:
    return f"/api/v1/namespaces/{namespace}/pods{f'/{name}' if name else ''}"
