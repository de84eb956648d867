import asyncio
from dataclasses import replace

import msgspec
import pytest
from aiohttp.test_utils import TestServer

from exporter.fabric.wire import Problem
from exporter.keys import Message, Verifier, node_key, sign
from exporter.web.admission import check_listen
from exporter.web.app import make_app

KEY = node_key(b"a master key of the cluster", "node-a")
BODY = b'{"paused": true, "who": "ana"}'
JSON = {"Content-Type": "application/json"}


@pytest.fixture
def said() -> list[tuple[bool, str]]:
    return []


@pytest.fixture
def unkeyed(services, said):
    return replace(services, pause=lambda paused, who: said.append((paused, who)))


@pytest.fixture
def keyed(unkeyed, clock):
    return replace(unkeyed, verifier=Verifier(KEY, clock))


def signed(services, clock, method: str, path: str, body: bytes = b"", key: bytes = KEY) -> dict[str, str]:
    return {**JSON, "Authorization": sign(key, Message(method, path, body), clock(), epoch=services.verifier.epoch)}


async def test_a_signed_request_is_served(ask, keyed, clock, said):
    status, _, _ = await ask(
        keyed, "POST", "/v1/pause", data=BODY, headers=signed(keyed, clock, "POST", "/v1/pause", BODY)
    )
    assert (status, said) == (204, [(True, "ana")])


async def test_an_unsigned_request_is_refused_where_there_is_a_key(ask, keyed, said):
    status, _, body = await ask(keyed, "POST", "/v1/pause", data=BODY, headers=JSON)
    assert (status, msgspec.json.decode(body, type=Problem).reason, said) == (401, "unauthorized", [])


async def test_a_request_for_an_earlier_life_is_refused_and_told_the_present_one(ask, keyed, clock, said):
    headers = {**JSON, "Authorization": sign(KEY, Message("POST", "/v1/pause", BODY), clock(), epoch="gone")}
    status, answered, body = await ask(keyed, "POST", "/v1/pause", data=BODY, headers=headers)
    assert (status, answered["RDMA-Gate-Epoch"], said) == (401, keyed.verifier.epoch, [])
    assert b"epoch: a signature for another life" in body


async def test_another_nodes_key_opens_nothing(ask, keyed, clock, said):
    other = node_key(b"a master key of the cluster", "node-b")
    headers = signed(keyed, clock, "POST", "/v1/pause", BODY, other)
    assert (await ask(keyed, "POST", "/v1/pause", data=BODY, headers=headers))[0] == 401
    assert said == []


async def test_a_signature_does_not_cover_another_body(ask, keyed, clock, said):
    headers = signed(keyed, clock, "POST", "/v1/pause", BODY)
    assert (await ask(keyed, "POST", "/v1/pause", data=b'{"paused": false}', headers=headers))[0] == 401
    assert said == []


async def test_a_signature_covers_the_query_as_it_travels(ask, keyed, clock, ledger):
    path = "/v1/records?after=0&epoch=a%20b"
    ledger.seq = 1
    assert (await ask(keyed, "GET", path, headers=signed(keyed, clock, "GET", path)))[0] == 200
    assert (await ask(keyed, "GET", "/v1/records?after=1", headers=signed(keyed, clock, "GET", path)))[0] == 401


@pytest.mark.parametrize("path", ["/v1/records?after=0", "/v1/tests/t1", "/v1/evidence/" + "0" * 64])
async def test_reading_a_node_needs_the_key_too(ask, keyed, path):
    assert (await ask(keyed, "GET", path))[0] == 401


@pytest.mark.parametrize("path", ["/metrics", "/-/healthy", "/-/ready", "/v1/paths"])
async def test_what_shows_the_state_is_open(ask, keyed, path):
    assert (await ask(keyed, "GET", path))[0] == 200


async def test_without_a_key_this_machine_may_ask(ask, unkeyed, said):
    assert (await ask(unkeyed, "POST", "/v1/pause", data=BODY, headers=JSON))[0] == 204
    assert said == [(True, "ana")]


async def test_without_a_key_a_name_that_is_not_this_machines_is_refused(ask, unkeyed, said):
    headers = {**JSON, "Host": "attacker.example"}
    status, _, body = await ask(unkeyed, "POST", "/v1/pause", data=BODY, headers=headers)
    assert (status, said) == (401, [])
    assert b"attacker.example found, a loopback name wanted" in body


async def test_without_a_key_a_foreign_pages_plain_post_is_refused(ask, unkeyed, said):
    status, _, _ = await ask(unkeyed, "POST", "/v1/pause", data=BODY, headers={"Content-Type": "text/plain"})
    assert (status, said) == (415, [])


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost", "127.1.2.3"])
def test_a_loopback_address_needs_no_key(host):
    check_listen(host, has_key=False)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "", "10.0.0.5", "node-a"])
def test_any_other_address_needs_one(host):
    with pytest.raises(ValueError, match="a loopback address or a key wanted"):
        check_listen(host, has_key=False)
    check_listen(host, has_key=True)


async def test_a_body_that_does_not_come_is_not_waited_for(keyed, monkeypatch):
    monkeypatch.setattr("exporter.web.admission.BODY_LIMIT_SECONDS", 0.01)
    async with TestServer(make_app(keyed)) as server:
        reader, writer = await asyncio.open_connection(server.host, server.port)
        writer.write(b"POST /v1/pause HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{")
        assert await reader.readline() == b"HTTP/1.1 408 Request Timeout\r\n"
        writer.close()
