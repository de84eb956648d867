import asyncio
from http import HTTPStatus
from typing import Any

import aiohttp
import msgspec
import pytest
from aiohttp import web

from exporter.fabric.node_client import Address, NodeClient
from exporter.fabric.remote import RemoteEndpoint
from exporter.fabric.wire import StartTest, problem_of
from exporter.keys import EPOCH_HEADER, Message, Unauthorized, Verifier, node_key
from probes import ProbeError
from probes._endpoint import Ended, Ready, Refused, TestRequest, Unreachable

KEY = node_key(b"a master key of the cluster", "node-b")


def application(node: Any, verifier: Verifier) -> web.Application:
    """The node's side of /v1/tests in its shortest form."""

    async def check(request: web.Request) -> None:
        message = Message(request.method, request.raw_path, await request.read())
        try:
            verifier.check(request.headers.get("Authorization", ""), message)
        except Unauthorized as error:
            raise web.HTTPUnauthorized(text=str(error), headers={EPOCH_HEADER: error.epoch}) from error

    async def start(request: web.Request) -> web.Response:
        await check(request)
        wanted = msgspec.json.decode(await request.read(), type=StartTest)
        try:
            return web.Response(body=msgspec.json.encode(await node.tests.start(wanted.request, wanted.lease)))
        except (Refused, ProbeError) as error:
            status, body = problem_of(error)
            return web.Response(status=status, body=body)

    async def wait(request: web.Request) -> web.Response:
        await check(request)
        outcome = await node.tests.wait(request.match_info["id"], 0.01)
        return web.Response(status=204) if outcome is None else web.Response(body=msgspec.json.encode(outcome))

    async def stop(request: web.Request) -> web.Response:
        await check(request)
        await node.tests.stop(request.match_info["id"])
        return web.Response(status=204)

    app = web.Application()
    app.add_routes([web.post("/v1/tests", start), web.get("/v1/tests/{id}", wait), web.delete("/v1/tests/{id}", stop)])
    return app


def endpoint(session: aiohttp.ClientSession, url: str, clock: Any, key: bytes = KEY) -> RemoteEndpoint:
    return RemoteEndpoint(NodeClient(session, Address("node-b", url, key), clock), "mlx5_0", "lease1")


@pytest.fixture
async def remote(node: Any, session: aiohttp.ClientSession, clock: Any, serve: Any) -> RemoteEndpoint:
    return endpoint(session, await serve(application(node, Verifier(KEY, clock))), clock)


async def test_a_remote_end_behaves_as_a_local_one(remote: RemoteEndpoint, node: Any, request_of_client: TestRequest):
    assert (remote.node, remote.hca) == ("node-b", "mlx5_0")
    assert await remote.start(request_of_client) == Ready("::ffff:192.0.2.1", 1, 20001, 1024, "Ethernet")
    assert node.ends[0].started == [request_of_client]
    waiting = asyncio.create_task(remote.wait())
    await asyncio.sleep(0)
    node.ends[0].end()
    outcome = await waiting
    assert (outcome.argv, outcome.ended, outcome.exit_status, outcome.stdout, outcome.counters_after) == (
        ("ib_write_bw",),
        Ended.EXIT,
        0,
        "out",
        {"a": 2},
    )


async def test_stopping_ends_the_remote_tool(remote: RemoteEndpoint, request_of_client: TestRequest):
    await remote.start(request_of_client)
    await remote.stop()
    assert (await remote.wait()).ended is Ended.STOPPED


async def test_a_refusal_arrives_as_a_refusal(remote: RemoteEndpoint, node: Any, request_of_client: TestRequest):
    node.guard.pause("ana")
    with pytest.raises(Refused) as raised:
        await remote.start(request_of_client)
    assert (raised.value.reason, raised.value.summary) == ("paused", "node-b: testing paused by ana")


async def test_a_probe_error_arrives_as_one(remote: RemoteEndpoint, node: Any, request_of_client: TestRequest):
    node.start_error = ProbeError("gid_missing", "mlx5_0/1: no usable RoCE v2 GID found, one wanted")
    with pytest.raises(ProbeError) as raised:
        await remote.start(request_of_client)
    assert (raised.value.reason, raised.value.summary) == (
        "gid_missing",
        "mlx5_0/1: no usable RoCE v2 GID found, one wanted",
    )


async def test_another_nodes_key_drives_nothing(
    session: aiohttp.ClientSession, node: Any, clock: Any, serve: Any, request_of_client: TestRequest
):
    url = await serve(application(node, Verifier(KEY, clock)))
    other = endpoint(session, url, clock, node_key(b"a master key of the cluster", "node-a"))
    with pytest.raises(Unreachable, match="node-b: HTTP status 401 found, 200 wanted"):
        await other.start(request_of_client)
    assert node.ends == []


async def test_a_node_that_began_a_new_life_is_asked_again_for_this_one(
    session: aiohttp.ClientSession, node: Any, clock: Any, serve: Any, request_of_client: TestRequest
):
    lives = [Verifier(KEY, clock), Verifier(KEY, clock)]
    current = lives[0]

    class Current:
        def check(self, header: str, message: Message) -> None:
            current.check(header, message)

    remote = endpoint(session, await serve(application(node, Current())), clock)
    await remote.start(request_of_client)
    current = lives[1]
    await remote.stop()
    assert (await remote.wait()).ended is Ended.STOPPED


async def test_a_node_that_does_not_listen_is_unreachable(
    session: aiohttp.ClientSession, clock: Any, unused_tcp_port: int, request_of_client: TestRequest
):
    gone = endpoint(session, f"http://127.0.0.1:{unused_tcp_port}", clock)
    with pytest.raises(Unreachable, match=r"node-b: POST /v1/tests failed \(.*\), an answer wanted"):
        await gone.start(request_of_client)
    await gone.stop()
    with pytest.raises(Unreachable, match="no test started"):
        await gone.wait()


async def test_a_node_that_forgot_the_test_is_unreachable(remote: RemoteEndpoint, node: Any, request_of_client: Any):
    await remote.start(request_of_client)
    node.tests.running._entries.clear()
    with pytest.raises(Unreachable, match="node-b: HTTP status 500 found, 200 wanted"):
        await remote.wait()


@pytest.mark.parametrize("body", [b"", b"<html>", b'{"id":1}', b"x" * (9 << 20)])
async def test_an_answer_that_is_none_of_ours_is_unreachable(
    session: aiohttp.ClientSession, clock: Any, serve: Any, body: bytes, request_of_client: TestRequest
):
    async def answer(_request: web.Request) -> web.Response:
        return web.Response(body=body)

    app = web.Application()
    app.router.add_route("*", "/{rest:.*}", answer)
    with pytest.raises(Unreachable):
        await endpoint(session, await serve(app), clock).start(request_of_client)


async def test_a_redirect_is_not_followed(session: aiohttp.ClientSession, clock: Any, serve: Any):
    async def elsewhere(_request: web.Request) -> web.Response:
        raise web.HTTPFound("/elsewhere")

    app = web.Application()
    app.router.add_route("*", "/{rest:.*}", elsewhere)
    client = NodeClient(session, Address("node-b", await serve(app)), clock)
    assert (await client.ask("GET", "/v1/x", limit_seconds=5)).status == HTTPStatus.FOUND
