"""Our application with so many samples, as its own process: ``python -m tests.bench.our_exporter SAMPLES PORT``.

``/bench/stall`` answers how late the event loop's ticks were at worst since it was last asked, in seconds;
``/bench/change`` gives one node's samples other values, as a run that has just come in does.
"""

import asyncio
import sys
import time
from collections.abc import AsyncIterator
from itertools import count

from aiohttp import web

from exporter import registry
from exporter.evidence import EvidenceStore
from exporter.ledger import Ledger
from exporter.metrics.blocks import BlockStore
from exporter.metrics.family import Family, Point
from exporter.metrics.records import RecordMetrics
from exporter.metrics.scrape import Scrape
from exporter.web.app import make_app
from exporter.web.services import Services
from tests.bench.samples import HELP, NAME, nodes, samples

TICK_SECONDS = 0.001
FAMILY = Family(NAME, HELP)


class Stall:
    """The latest tick since it was last asked for."""

    def __init__(self) -> None:
        self.worst_seconds = 0.0

    async def watch(self, _app: web.Application) -> AsyncIterator[None]:
        """Tick as long as the application lives."""
        task = asyncio.create_task(self._tick())
        yield
        task.cancel()

    async def get(self, _request: web.Request) -> web.Response:
        """Answer with the worst, and begin anew."""
        worst, self.worst_seconds = self.worst_seconds, 0.0
        return web.Response(text=repr(worst))

    async def _tick(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            due = loop.time() + TICK_SECONDS
            await asyncio.sleep(TICK_SECONDS)
            self.worst_seconds = max(self.worst_seconds, loop.time() - due)


def application(sample_count: int) -> web.Application:
    """Return the application of the node role, with the samples in its store and the two routes of the bench."""
    store, stall, changes = BlockStore(), Stall(), count(1)
    for node in nodes(sample_count):
        _put(store, node)

    async def change(_request: web.Request) -> web.Response:
        number = next(changes)
        _put(store, number % len(nodes(sample_count)), shift=number)
        return web.Response()

    ledger = Ledger(None, EvidenceStore(None), time.time)
    scrape = Scrape("bench", store, RecordMetrics(store, ledger, "bench", registry.probes()))
    app = make_app(Services("bench", ledger, scrape))
    app.cleanup_ctx.append(stall.watch)
    app.add_routes([web.get("/bench/stall", stall.get), web.get("/bench/change", change)])
    return app


def _put(store: BlockStore, node: int, *, shift: float = 0.0) -> None:
    store.put(("node", node), {FAMILY: [Point(*one) for one in samples(node, shift=shift)]})


if __name__ == "__main__":
    web.run_app(application(int(sys.argv[1])), host="127.0.0.1", port=int(sys.argv[2]), access_log=None, print=None)
