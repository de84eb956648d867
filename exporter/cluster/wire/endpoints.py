"""EndpointSlices."""

import msgspec

from exporter.cluster.wire.meta import Meta


class EndpointConditions(msgspec.Struct, frozen=True):
    """``ready`` absent counts as ready."""

    ready: bool | None = None
    terminating: bool | None = None


class Endpoint(msgspec.Struct, frozen=True, rename="camel"):
    """One end."""

    addresses: tuple[str, ...] | None = None
    node_name: str | None = None
    conditions: EndpointConditions = EndpointConditions()


class Port(msgspec.Struct, frozen=True):
    """One port; ``name`` is that of the Service."""

    name: str | None = None
    port: int | None = None


class EndpointSlice(msgspec.Struct, frozen=True):
    """One EndpointSlice."""

    metadata: Meta = Meta()
    endpoints: tuple[Endpoint, ...] | None = None
    ports: tuple[Port, ...] | None = None
