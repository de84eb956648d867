"""What the demo's session reads from its gate, and that its plan and settings are ones the program accepts."""

import asyncio
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from deploy.demo.session import PLAN, Session
from exporter import registry
from exporter.plan.cost import bytes_of_run, plan_cost
from exporter.plan.load import load_plan
from exporter.settings import KnownMember

VIEW = {
    "banner": "closed",
    "pools": [
        {"nodes": [{"name": "node-a", "cells": [{"check": "access", "status": "pass"}]}]},
        {"nodes": [{"name": "node-b", "cells": [{"check": "access", "status": "failed"}]}]},
    ],
}


def session(folder: Path, port: int) -> Session:
    return Session(folder, port, say=lambda _text: None)


async def test_a_cell_is_found_by_node_and_check_in_any_pool(tmp_path):
    async def gate(_request: web.Request) -> web.Response:
        return web.json_response(VIEW)

    app = web.Application()
    app.router.add_get("/gate.json", gate)
    async with TestServer(app) as server:
        one = session(tmp_path, server.port)
        assert await asyncio.to_thread(one.gate) == VIEW
        assert await asyncio.to_thread(one.cell, "node-b", "access") == {"check": "access", "status": "failed"}


def test_a_gate_that_does_not_answer_is_an_oserror(tmp_path):
    with pytest.raises(OSError, match="refused"):
        session(tmp_path, 9).gate()


async def test_a_session_that_never_started_stops_without_complaint(tmp_path):
    await session(tmp_path, 9).stop()


def test_its_addresses_and_files_lie_in_its_folder(tmp_path):
    one = session(tmp_path, 19842)
    assert (one.url, one.config) == ("http://127.0.0.1:19842", tmp_path / "gate.yaml")


def test_the_demos_plan_is_usable_within_its_own_budget():
    plan = load_plan(PLAN)
    members = [KnownMember("node-a"), KnownMember("node-b")]
    cost = plan_cost(plan, members, lambda spec: bytes_of_run(registry.probes(), spec))
    assert (cost.problems, [one.nodes for one in cost.pools]) == ((), [2])
    assert plan.reviewed is not None


def test_the_demos_plan_and_decisions_cover_every_required_probe():
    from deploy.demo.decisions import SUBJECTS

    plan = load_plan(PLAN)
    planned = {spec.probe for pool in plan.pools for spec in (*pool.probes, *pool.tests)}
    decided = {subject for _, subject, _ in SUBJECTS.values()}
    required = {(word, name) for word, check in registry.checks().items() for name in check.required}
    assert {name for word, name in required if name not in planned and not {word, name} & decided} == set()
