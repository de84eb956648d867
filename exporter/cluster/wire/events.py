"""Events of the core API."""

import msgspec

from exporter.cluster.wire.meta import Meta


class Involved(msgspec.Struct, frozen=True):
    """What it is about."""

    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""


class Source(msgspec.Struct, frozen=True):
    """Who said it, in the older way."""

    component: str = ""


class Series(msgspec.Struct, frozen=True, rename="camel"):
    """How often it was said, in the newer way."""

    count: int = 0
    last_observed_time: str | None = None


class Event(msgspec.Struct, frozen=True, rename="camel"):
    """One Event."""

    metadata: Meta = Meta()
    involved_object: Involved = Involved()
    reason: str = ""
    message: str = ""
    type: str = ""
    source: Source = Source()
    reporting_component: str = ""
    count: int | None = None
    series: Series | None = None
    last_timestamp: str | None = None
    event_time: str | None = None
