"""One scrape: the kept blocks, and the few numbers that are read now."""

import asyncio
import gzip
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from prometheus_client.exposition import generate_latest
from prometheus_client.registry import CollectorRegistry

from exporter.metrics import families
from exporter.metrics.blocks import COMPRESSION_LEVEL, BlockStore
from exporter.metrics.family import Point
from exporter.metrics.lag import LoopLag
from exporter.metrics.own import OwnCost, cost_points, identity_points, process_registry
from exporter.metrics.records import RecordMetrics

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


@dataclass(frozen=True)
class Scrape:
    """Everything that ``/metrics`` answers. ``pool`` and ``cost`` are asked at each scrape."""

    node: str
    store: BlockStore
    records: RecordMetrics
    pool: Callable[[], str] = str
    cost: Callable[[], OwnCost] = OwnCost
    facts: Mapping[str, str] = field(default_factory=dict)
    lag: LoopLag = field(default_factory=LoopLag)
    process: CollectorRegistry = field(default_factory=process_registry)

    def text(self) -> list[bytes]:
        """Return the exposition in text format 0.0.4, as pieces to be sent one after the other."""
        self._refresh()
        return [*self.store.parts(), generate_latest(self.process)]

    async def compressed(self) -> list[bytes]:
        """Return the same as gzip members."""
        self._refresh()
        members = await self.store.compressed()
        own = await asyncio.to_thread(gzip.compress, generate_latest(self.process), COMPRESSION_LEVEL)
        return [*members, own]

    def _refresh(self) -> None:
        self.records.forget_dropped()
        self.store.put("cost", cost_points(self.node, self.cost()))
        self.store.put("identity", identity_points(self.node, self.pool(), self.facts))
        self.store.put(
            "exposition",
            {
                families.LOOP_LAG: [Point({}, self.lag.worst_seconds)],
                families.FAILURES_DROPPED: [Point({}, self.records.failures_dropped)],
                families.SERIES: [Point({}, self.store.series)],
            },
        )
