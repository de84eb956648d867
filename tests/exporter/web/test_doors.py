"""One peer cannot take all connections, and what stays idle is closed."""

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest
from aiohttp import web

from exporter.web.app import make_app
from exporter.web.doors import Doors

REQUEST = b"GET /-/healthy HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@pytest.fixture
async def connect(services) -> AsyncIterator[Callable]:
    """``connect(per_peer, idle_seconds)`` serves on 127.0.0.1 and returns what opens one connection more."""
    runners: list[web.AppRunner] = []
    opened: list[asyncio.StreamWriter] = []

    async def serving(per_peer: int, idle_seconds: float) -> Callable:
        runners.append(web.AppRunner(make_app(services), keepalive_timeout=idle_seconds))
        await runners[0].setup()
        listening = await asyncio.get_running_loop().create_server(Doors(runners[0].server, per_peer), "127.0.0.1", 0)
        port = listening.sockets[0].getsockname()[1]

        async def one() -> Streams:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            opened.append(writer)
            return reader, writer

        return one

    yield serving
    for writer in opened:
        writer.close()
    for runner in runners:
        await runner.cleanup()


async def is_served(streams: Streams) -> bool:
    reader, writer = streams
    writer.write(REQUEST)
    try:
        return (await reader.readline()).startswith(b"HTTP/1.1 200")
    except ConnectionError:
        return False


async def test_a_peer_has_only_so_many_connections_and_a_new_one_for_each_that_ends(connect):
    one = await connect(per_peer=2, idle_seconds=600)
    held = [await one(), await one()]
    assert [await is_served(streams) for streams in held] == [True, True]
    assert not await is_served(await one())
    held[0][1].close()
    await held[0][1].wait_closed()
    while not await is_served(await one()):
        await asyncio.sleep(0)


async def test_a_connection_that_never_asks_is_closed(connect):
    reader, _ = await (await connect(per_peer=2, idle_seconds=0.05))()
    async with asyncio.timeout(60):
        assert await reader.read() == b""


async def test_a_connection_that_asks_no_more_is_closed(connect):
    reader, writer = await (await connect(per_peer=2, idle_seconds=0.05))()
    writer.write(REQUEST)
    async with asyncio.timeout(60):
        assert (await reader.read()).startswith(b"HTTP/1.1 200")
