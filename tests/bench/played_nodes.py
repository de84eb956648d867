"""Nodes that answer a gate in time, have nothing new and give no slot: ``python -m tests.bench.played_nodes PORT``."""

import asyncio
import random
import sys
import time

import msgspec
from aiohttp import web

from exporter.fabric.wire import Problem, Records

HEARTBEAT_SECONDS = (3.0, 7.0)


async def answer_records(request: web.Request) -> web.Response:
    """One heartbeat of a node; its first answer comes at once."""
    if "epoch" in request.query:
        await asyncio.sleep(random.uniform(*HEARTBEAT_SECONDS))
    return web.Response(body=msgspec.json.encode(Records(request.match_info["node"], 1, (), time.time())))


async def refuse(_request: web.Request) -> web.Response:
    """No slot here."""
    return web.Response(status=409, body=msgspec.json.encode(Problem("port_busy", "hca: in use, a quiet port wanted")))


async def accept(_request: web.Request) -> web.Response:
    """Whatever it was."""
    return web.Response(status=204)


def main(port: int) -> None:
    """Serve all nodes of any name below one address until the process is ended."""
    app = web.Application()
    app.add_routes([web.get("/{node}/v1/records", answer_records), web.post("/{node}/v1/leases", refuse)])
    app.add_routes([web.post("/{node}/v1/assignment", accept), web.delete("/{node}/v1/leases/{id}", accept)])
    web.run_app(app, host="127.0.0.1", port=port, print=None, access_log=None)


if __name__ == "__main__":
    main(int(sys.argv[1]))
