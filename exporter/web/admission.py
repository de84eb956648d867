"""Who may ask: with a key, whoever signs with it; without one, this machine alone and no foreign web page."""

import asyncio

from aiohttp import web

from exporter.keys import Message, Unauthorized
from exporter.settings import is_loopback
from exporter.web.problems import Handler
from exporter.web.services import SERVICES, Verifier

BODY_LIMIT_SECONDS = 10.0
GUARDED_PREFIX = "/v1/"
OPEN_PATHS = frozenset({"/v1/paths"})


def check_listen(host: str, *, has_key: bool) -> None:
    """Raise ValueError where an address beyond this machine would be served without a key."""
    if not has_key and not is_loopback(host):
        raise ValueError(f"listen: {host or 'every address'} without a key found, a loopback address or a key wanted")


@web.middleware
async def admit(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Let a guarded request through only when it is signed, or, without a key, when it comes from this machine."""
    if request.path.startswith(GUARDED_PREFIX) and request.path not in OPEN_PATHS:
        services = request.app[SERVICES]
        if services.verifier is None:
            _check_local(request)
        else:
            await _check_signed(request, services.verifier)
        if services.tests is not None:
            services.tests.guard.heard()
    return await handler(request)


async def _check_signed(request: web.Request, verifier: Verifier) -> None:
    message = Message(request.method, request.raw_path, await _body(request))
    verifier.check(request.headers.get("Authorization", ""), message)


async def _body(request: web.Request) -> bytes:
    """Anybody may send a body, so it has to come soon: each open connection is one file fewer for the probes."""
    try:
        async with asyncio.timeout(BODY_LIMIT_SECONDS):
            return await request.read()
    except (TimeoutError, ConnectionError) as error:
        sentence = f"body: not whole after {BODY_LIMIT_SECONDS:.0f} s, or broken off; all of it wanted"
        raise web.HTTPRequestTimeout(reason=sentence) from error


def _check_local(request: web.Request) -> None:
    # A browser sends any page's plain POST to 127.0.0.1, but JSON only after asking, which nobody here answers; and
    # a name that was rebound to 127.0.0.1 still stands in the Host header.
    if not is_loopback(request.remote or ""):
        raise Unauthorized(f"{request.remote}: no key set, requests from this machine wanted")
    if not is_loopback(request.url.host or ""):
        raise Unauthorized(f"Host: {request.url.host} found, a loopback name wanted without a key")
    if request.method == "POST" and request.content_type != "application/json":
        raise web.HTTPUnsupportedMediaType(reason=f"{request.content_type} found, application/json wanted")
