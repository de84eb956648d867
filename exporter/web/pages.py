"""The gate page for people, and the same verdict as JSON."""

from http import HTTPStatus

import msgspec
from aiohttp import web

from exporter.view import GateView
from exporter.web.api import evidence_answer
from exporter.web.page import Made, view_tag
from exporter.web.services import SERVICES


async def get_gate(request: web.Request) -> web.Response:
    """Answer with the page of all nodes."""
    view = _view(request)
    return _page(request, view, await request.app[SERVICES].pages.gate(view))


async def get_node(request: web.Request) -> web.Response:
    """Answer with the page of one node: every finding with its evidence."""
    view, name = _view(request), request.match_info["node"]
    made = await request.app[SERVICES].pages.node(view, name)
    if made is None:
        raise web.HTTPNotFound(reason=f"{name} is no node of this gate, one of its page wanted")
    return _page(request, view, made)


async def get_gate_json(request: web.Request) -> web.Response:
    """Answer with everything that the pages show."""
    view = _view(request)
    tag = view_tag(view)
    headers = _headers(view, tag)
    if request.headers.get("If-None-Match") == tag:
        return web.Response(status=HTTPStatus.NOT_MODIFIED, headers=headers)
    return web.Response(body=msgspec.json.encode(view), content_type="application/json", headers=headers)


async def get_evidence(request: web.Request) -> web.Response:
    """Answer with the whole text behind a finding of the page."""
    _view(request)
    return evidence_answer(request.app[SERVICES].ledger, request.match_info["sha256"])


def _page(request: web.Request, view: GateView, made: Made) -> web.Response:
    headers = _headers(view, made.tag)
    if request.headers.get("If-None-Match") == made.tag:
        return web.Response(status=HTTPStatus.NOT_MODIFIED, headers=headers)
    headers["Content-Security-Policy"] = made.policy
    headers["Referrer-Policy"] = "no-referrer"
    return web.Response(body=made.html, content_type="text/html", charset="utf-8", headers=headers)


def _headers(view: GateView, tag: str) -> dict[str, str]:
    return {
        "ETag": tag,
        "Cache-Control": "no-store",
        "X-Content-Type-Options": "nosniff",
        "X-Decided": f"{view.decided:.3f}",
    }


def _view(request: web.Request) -> GateView:
    view = request.app[SERVICES].view
    if view is None:
        raise web.HTTPNotFound(reason="no gate in this process's roles")
    return view()
