"""Which nodes run rdma-gate, and where: as the EndpointSlices of the nodes' Service say, ready or not.

A pod that is not ready keeps its place, since a node that does not answer must be seen as silent, not as gone; one
that is terminating is left to its successor.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping

from exporter.clock import Clock
from exporter.cluster.connection import Connection
from exporter.cluster.kinds import ENDPOINT_SLICES
from exporter.cluster.reflector import Reflector
from exporter.cluster.source import Source
from exporter.cluster.wire.endpoints import Endpoint, EndpointSlice
from exporter.settings import KnownMember, KubernetesSettings
from probes._cluster import KubeNode, Unread

SERVICE_LABEL = "kubernetes.io/service-name"


class Membership:
    """The members of the cluster. ``changed`` is called when one came, went, or moved."""

    def __init__(
        self, connection: Connection, settings: KubernetesSettings, clock: Clock, changed: Callable[[], None]
    ) -> None:
        source = Source(ENDPOINT_SLICES, settings.namespace, f"{SERVICE_LABEL}={settings.node_service}")
        self._reflector: Reflector[EndpointSlice] = Reflector(connection, source, clock, changed)
        self._stale_seconds = settings.stale_seconds

    async def run(self) -> None:
        """Follow until cancelled."""
        await self._reflector.run()

    @property
    def synced(self) -> bool:
        """Whether the members were read at all."""
        return self._reflector.synced

    @property
    def unread(self) -> Unread | None:
        """Return why the members cannot be relied on; those last read are kept."""
        return self._reflector.unread(self._stale_seconds)

    def members(self, nodes: Mapping[str, KubeNode], scheme: str = "http") -> tuple[KnownMember, ...]:
        """Return a member for each node that has an endpoint, with the labels of its Node object, by name."""
        return members_of(self._reflector.items.values(), nodes, scheme)


def members_of(
    slices: Iterable[EndpointSlice], nodes: Mapping[str, KubeNode], scheme: str = "http"
) -> tuple[KnownMember, ...]:
    """Return the members that the slices name. Of a node's two pods, as during an update, the ready one is reached."""
    best: dict[str, tuple[bool, str, int]] = {}
    for name, ready, address, port in _ends(slices):
        if name not in best or (ready, address) > best[name][:2]:
            best[name] = (ready, address, port)
    return tuple(_member(name, *best[name][1:], nodes.get(name), scheme) for name in sorted(best))


def _ends(slices: Iterable[EndpointSlice]) -> Iterator[tuple[str, bool, str, int]]:
    for one in slices:
        port = next((port.port for port in one.ports or () if port.port), None)
        for end in one.endpoints or ():
            if port and end.node_name and end.addresses and not end.conditions.terminating:
                yield end.node_name, _is_ready(end), end.addresses[0], port


def _is_ready(end: Endpoint) -> bool:
    return end.conditions.ready is not False


def _member(name: str, address: str, port: int, node: KubeNode | None, scheme: str) -> KnownMember:
    host = f"[{address}]" if ":" in address else address
    return KnownMember(name, f"{scheme}://{host}:{port}", {"": address}, node.labels if node else {})
