"""An API server of a few lines: lists in pages, watches with bookmarks, versions, and every fault on demand."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

GROUPS = {
    "/api/v1": ["nodes", "pods", "configmaps", "events"],
    "/apis/apps/v1": ["daemonsets"],
    "/apis/discovery.k8s.io/v1": ["endpointslices"],
    "/apis/coordination.k8s.io/v1": ["leases"],
}


@dataclass
class Fault:
    """How requests are answered whose "METHOD path?query" contains ``text``, ``times`` times."""

    text: str
    status: int
    times: int = 1
    headers: dict[str, str] = field(default_factory=dict)
    message: str = "fault"


@dataclass
class FakeApi:
    """Objects are kept by "/api/v1/pods", namespace and name. ``tokens`` None: anybody may come."""

    groups: dict[str, list[str]] = field(default_factory=lambda: {key: list(value) for key, value in GROUPS.items()})
    tokens: set[str] | None = None
    version: int = 100
    oldest: int = 0
    faults: list[Fault] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    port: int = 0
    watching: int = 0
    watch_seconds: float = 3600.0
    _objects: dict[str, dict[tuple[str, str], dict[str, Any]]] = field(default_factory=dict)
    _log: list[tuple[int, str, str, dict[str, Any]]] = field(default_factory=list)
    _news: asyncio.Event = field(default_factory=asyncio.Event)
    _watches: set[asyncio.Transport] = field(default_factory=set)
    _ended: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def put(self, base: str, item: dict[str, Any]) -> dict[str, Any]:
        """Create or change an object."""
        meta = item.setdefault("metadata", {})
        key = meta.get("namespace", ""), meta["name"]
        known = self._objects.setdefault(base, {})
        kind = "MODIFIED" if key in known else "ADDED"
        self.version += 1
        meta["resourceVersion"] = str(self.version)
        known[key] = item
        self._tell(kind, base, item)
        return item

    def delete(self, base: str, name: str, namespace: str = "") -> None:
        item = self._objects[base].pop((namespace, name))
        self.version += 1
        item = json.loads(json.dumps(item))
        item["metadata"]["resourceVersion"] = str(self.version)
        self._tell("DELETED", base, item)

    def get(self, base: str, name: str, namespace: str = "") -> dict[str, Any] | None:
        return self._objects.get(base, {}).get((namespace, name))

    def forget_history(self) -> None:
        """Let every version until now be too old, for the watches that are open as well."""
        self.version += 1
        self.oldest = self.version
        self._wake()

    def cut_watches(self) -> None:
        """Break every watch off in the middle, as a network does."""
        for transport in tuple(self._watches):
            transport.abort()

    def end_watches(self) -> None:
        """End every watch in order, as the server does after its time."""
        self._ended += 1
        self._wake()

    def bookmark(self) -> None:
        """Say to every watch which version there is now."""
        self.version += 1
        self._tell("BOOKMARK", "", {"metadata": {"resourceVersion": str(self.version)}})

    def asked(self, text: str) -> list[str]:
        return [one for one in self.requests if text in one]

    @asynccontextmanager
    async def serving(self, port: int = 0) -> AsyncIterator["FakeApi"]:
        app = web.Application(client_max_size=1 << 26)
        app.router.add_route("*", "/{path:.*}", self._answer)
        runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.0)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", port or self.port)
        await site.start()
        self.port = runner.addresses[0][1]
        try:
            yield self
        finally:
            self.end_watches()
            await runner.cleanup()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        line = f"{request.method} {request.path_qs}"
        self.requests.append(line)
        if (
            self.tokens is not None
            and request.headers.get("Authorization", "").removeprefix("Bearer ") not in self.tokens
        ):
            return _status(401, "Unauthorized")
        for fault in self.faults:
            if fault.times > 0 and fault.text in line:
                fault.times -= 1
                return _status(fault.status, fault.message, fault.headers)
        if request.path in self.groups:
            return web.json_response({"resources": [{"name": name} for name in self.groups[request.path]]})
        found = self._place(request.path)
        if found is None:
            return _status(404, "the server could not find the requested resource")
        return await self._at(request, *found)

    async def _at(self, request: web.Request, base: str, namespace: str, name: str) -> web.StreamResponse:
        if request.method in ("POST", "PUT"):
            return await self._write(request, base, namespace)
        if name:
            item = self.get(base, name, namespace)
            return web.json_response(item) if item else _status(404, f"{name} not found")
        if "watch" in request.query:
            return await self._watch(request, base, namespace)
        return self._list(request, base, namespace)

    async def _write(self, request: web.Request, base: str, namespace: str) -> web.Response:
        item = await request.json()
        before = self.get(base, item["metadata"]["name"], namespace)
        sent = item["metadata"].get("resourceVersion")
        if (request.method == "POST") == (before is not None):
            return _status(409, "already exists") if before else _status(404, "not found")
        if before and sent != before["metadata"]["resourceVersion"]:
            return _status(409, "the object has been modified")
        return web.json_response(self.put(base, item), status=201 if request.method == "POST" else 200)

    def _list(self, request: web.Request, base: str, namespace: str) -> web.Response:
        items = self._selected(request, base, namespace)
        start = int(request.query.get("continue", "0"))
        end = start + int(request.query.get("limit", "0") or len(items) or 1)
        more = str(end) if end < len(items) else ""
        meta = {"resourceVersion": str(self.version), "continue": more}
        return web.json_response({"metadata": meta, "items": items[start:end]})

    def _selected(self, request: web.Request, base: str, namespace: str) -> list[dict[str, Any]]:
        wanted = _labels(request)
        known = self._objects.get(base, {}).items()
        return [item for (place, _), item in known if namespace in ("", place) and wanted(item)]

    async def _watch(self, request: web.Request, base: str, namespace: str) -> web.StreamResponse:
        since, ended, wanted = int(request.query["resourceVersion"]), self._ended, _labels(request)
        response = web.StreamResponse()
        await response.prepare(request)
        transport = request.transport
        self._watches.add(transport)
        self.watching += 1
        try:
            while ended == self._ended:
                news = self._news
                if since < self.oldest:
                    await response.write(
                        _line("ERROR", {"kind": "Status", "code": 410, "message": "too old resource version"})
                    )
                    break
                for version, kind, place, item in self._log:
                    mine = place == base and namespace in ("", item["metadata"].get("namespace", "")) and wanted(item)
                    if version > since and (mine or kind == "BOOKMARK"):
                        await response.write(_line(kind, item))
                since = max(since, self.version)
                await news.wait()
        finally:
            self._watches.discard(transport)
            self.watching -= 1
        return response

    def _place(self, path: str) -> tuple[str, str, str] | None:
        for group, plurals in self.groups.items():
            if path.startswith(f"{group}/"):
                parts = path[len(group) + 1 :].split("/")
                namespace = parts[1] if parts[0] == "namespaces" and len(parts) > 2 else ""
                plural, *name = parts[2:] if namespace else parts
                if plural in plurals:
                    return f"{group}/{plural}", namespace, "/".join(name)
        return None

    def _tell(self, kind: str, base: str, item: dict[str, Any]) -> None:
        self._log.append((self.version, kind, base, json.loads(json.dumps(item))))
        self._wake()

    def _wake(self) -> None:
        self._news.set()
        self._news = asyncio.Event()


def _labels(request: web.Request) -> Callable[[dict[str, Any]], bool]:
    pairs = dict(one.split("=") for one in request.query.get("labelSelector", "").split(",") if one)
    return lambda item: pairs.items() <= item["metadata"].get("labels", {}).items()


def _line(kind: str, item: dict[str, Any]) -> bytes:
    return json.dumps({"type": kind, "object": item}).encode() + b"\n"


def _status(code: int, message: str, headers: dict[str, str] | None = None) -> web.Response:
    return web.json_response({"kind": "Status", "code": code, "message": message}, status=code, headers=headers or {})
