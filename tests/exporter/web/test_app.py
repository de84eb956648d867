import gzip
from dataclasses import replace

import pytest
from prometheus_client.parser import text_string_to_metric_families

from exporter.metrics.family import Family, Point
from exporter.web.app import accepts_gzip


async def test_metrics_are_text_of_version_0_0_4(ask, services):
    status, headers, body = await ask(services, "GET", "/metrics", headers={"Accept-Encoding": "identity"})
    names = {family.name for family in text_string_to_metric_families(body.decode())}
    assert (status, headers["Content-Type"]) == (200, "text/plain; version=0.0.4; charset=utf-8")
    assert {"rdma_gate_build_info", "rdma_gate_check_info", "process_cpu_seconds", "rdma_gate_series"} <= names


async def test_metrics_are_compressed_for_those_who_take_it(ask, services):
    services.scrape.store.put("x", {Family("x", "X."): [Point({"device": str(n)}, n) for n in range(20_000)]})
    _, headers, body = await ask(services, "GET", "/metrics", headers={"Accept-Encoding": "gzip"})
    assert headers["Content-Encoding"] == "gzip"
    assert len(body) == int(headers["Content-Length"])
    assert gzip.decompress(body).count(b"\nrdma_gate_x{") == 20_000


async def test_a_large_scrape_arrives_whole_without_compression_too(ask, services):
    services.scrape.store.put("x", {Family("x", "X."): [Point({"device": str(n)}, n) for n in range(20_000)]})
    _, headers, body = await ask(services, "GET", "/metrics", headers={"Accept-Encoding": "identity"})
    assert len(body) == int(headers["Content-Length"])
    assert body.count(b"\nrdma_gate_x{") == 20_000


@pytest.mark.parametrize(
    ("header", "accepted"),
    [
        ("gzip", True),
        ("deflate, gzip;q=1.0", True),
        ("gzip;q=0", False),
        ("gzip; q=0.0", False),
        ("br", False),
        ("", False),
    ],
)
def test_gzip_is_sent_only_where_it_is_taken(header, accepted):
    assert accepts_gzip(header) is accepted


async def test_the_process_is_healthy(ask, services):
    status, _, body = await ask(services, "GET", "/-/healthy")
    assert (status, body) == (200, b"rdma-gate is healthy.\n")


async def test_ready_says_why_not_yet(ask, services):
    waiting = replace(services, not_ready=lambda: "ledger: loading, loaded wanted")
    assert (await ask(waiting, "GET", "/-/ready"))[::2] == (503, b"ledger: loading, loaded wanted\n")
    assert (await ask(services, "GET", "/-/ready"))[::2] == (200, b"rdma-gate is ready.\n")


async def test_the_root_leads_to_the_gate_page_where_there_is_one(ask, services, opened):
    status, headers, _ = await ask(replace(services, view=lambda: opened), "GET", "/")
    assert (status, headers["Location"]) == (302, "/gate")
    status, headers, _ = await ask(services, "GET", "/")
    assert (status, headers["Location"]) == (302, "/metrics")


async def test_an_unknown_path_is_answered_by_one_json_sentence(ask, services):
    status, headers, body = await ask(services, "GET", "/v2/records")
    assert (status, headers["Content-Type"]) == (404, "application/json")
    assert body == b'{"reason":"http","summary":"GET /v2/records: Not Found"}'
