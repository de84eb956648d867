"""One aiohttp application for every role: what a role does not have answers 404 with a sentence."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import suppress

from aiohttp import web

from exporter.metrics.scrape import CONTENT_TYPE
from exporter.web import api, pages
from exporter.web.admission import admit
from exporter.web.problems import answer_problems
from exporter.web.services import SERVICES, Services

BODY_LIMIT_BYTES = 4 * 2**20
CHUNK_BYTES = 256 * 1024


def make_app(services: Services) -> web.Application:
    """Return the application; nothing of it lives outside the one SERVICES key."""
    app = web.Application(client_max_size=BODY_LIMIT_BYTES, middlewares=[answer_problems, admit])
    app[SERVICES] = services
    app.cleanup_ctx.append(_watch_lag)
    app.add_routes(
        [
            web.get("/", get_root),
            web.get("/metrics", get_metrics),
            web.get("/-/healthy", get_healthy),
            web.get("/-/ready", get_ready),
            web.get("/gate", pages.get_gate),
            web.get("/gate.json", pages.get_gate_json),
            web.get("/gate/nodes/{node}", pages.get_node),
            web.get("/gate/explain/{node}/{check}", api.get_explanation),
            web.get("/gate/evidence/{sha256}", pages.get_evidence),
            web.get("/v1/records", api.get_records),
            web.post("/v1/assignment", api.post_assignment),
            web.post("/v1/leases", api.post_lease),
            web.delete("/v1/leases/{id}", api.delete_lease),
            web.post("/v1/tests", api.post_test),
            web.get("/v1/tests/{id}", api.get_test),
            web.delete("/v1/tests/{id}", api.delete_test),
            web.post("/v1/bursts", api.post_burst),
            web.get("/v1/bursts/{id}", api.get_burst),
            web.delete("/v1/bursts/{id}", api.delete_burst),
            web.get("/v1/evidence/{sha256}", api.get_evidence),
            web.post("/v1/pause", api.post_pause),
            web.get("/v1/paths", api.get_paths),
            web.get("/v1/snapshot", api.get_snapshot),
        ]
    )
    return app


async def get_root(request: web.Request) -> web.Response:
    """Send people to the gate page, or to the metrics where no gate runs."""
    raise web.HTTPFound("/gate" if request.app[SERVICES].view else "/metrics")


async def get_healthy(_request: web.Request) -> web.Response:
    """The event loop answers."""
    return web.Response(text="rdma-gate is healthy.\n")


async def get_ready(request: web.Request) -> web.Response:
    """The process serves, or one sentence why it does not yet."""
    sentence = request.app[SERVICES].not_ready()
    return web.Response(text=f"{sentence or 'rdma-gate is ready.'}\n", status=503 if sentence else 200)


async def get_metrics(request: web.Request) -> web.StreamResponse:
    """Answer a scrape in text format 0.0.4, as gzip where the client takes it."""
    scrape = request.app[SERVICES].scrape
    headers = {"Content-Type": CONTENT_TYPE, "Vary": "Accept-Encoding"}
    if not accepts_gzip(request.headers.get("Accept-Encoding", "")):
        return await _send(request, scrape.text(), headers)
    return await _send(request, await scrape.compressed(), headers | {"Content-Encoding": "gzip"})


def accepts_gzip(header: str) -> bool:
    """Whether an Accept-Encoding header names gzip without refusing it by ``q=0``."""
    for offer in header.lower().split(","):
        name, _, weight = offer.replace(" ", "").partition(";")
        if name == "gzip":
            return weight.rstrip("0.") != "q="
    return False


async def _send(request: web.Request, pieces: Sequence[bytes], headers: dict[str, str]) -> web.StreamResponse:
    response = web.StreamResponse(headers=headers)
    response.content_length = sum(map(len, pieces))
    await response.prepare(request)
    for chunk in _chunks(pieces):
        await response.write(chunk)
        # A reader that keeps up never makes the write wait, so that a large scrape would hold up everybody else.
        await asyncio.sleep(0)
    await response.write_eof()
    return response


def _chunks(pieces: Sequence[bytes]) -> Iterator[bytes]:
    gathered: list[bytes] = []
    size = 0
    for piece in pieces:
        gathered.append(piece)
        size += len(piece)
        if size >= CHUNK_BYTES:
            yield b"".join(gathered)
            gathered, size = [], 0
    yield b"".join(gathered)


async def _watch_lag(app: web.Application) -> AsyncIterator[None]:
    task = asyncio.create_task(app[SERVICES].scrape.lag.watch(), name="event loop lag")
    yield
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
