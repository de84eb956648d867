"""The pages are made once for each change of the verdict, beside the event loop, and then only handed out."""

import asyncio
import hashlib
import secrets
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from exporter.gate.uk_time import iso_time, uk_time
from exporter.view import GateView, NodeView, PoolView
from exporter.web.matrix import path_matrix

if TYPE_CHECKING:
    import jinja2

OPEN_STATUSES = frozenset({"pass", "not_applicable", "accepted"})


@dataclass(frozen=True, slots=True)
class Made:
    """A finished page. ``tag`` changes with what is shown, not with the time of the decision."""

    tag: str
    html: bytes
    policy: str


@dataclass
class Pages:
    """Renders the gate page, or one node's, and keeps what it made of the newest view."""

    _environment: "jinja2.Environment | None" = None
    _view: GateView | None = None
    _made: dict[str, Made] = field(default_factory=dict)

    async def gate(self, view: GateView) -> Made:
        """Return the page of all nodes."""
        return await self._page("", view, "gate.html", {"matrix": path_matrix(view.paths)})

    async def node(self, view: GateView, name: str) -> Made | None:
        """Return the page of one node, None for a node that the verdict does not know."""
        found = next(((pool, node) for pool in view.pools for node in pool.nodes if node.name == name), None)
        if found is None:
            return None
        pool, node = found
        return await self._page(name, view, "node.html", {"pool": pool, "node": node})

    async def _page(self, name: str, view: GateView, template: str, values: Mapping[str, Any]) -> Made:
        if view is not self._view:
            self._view, self._made = view, {}
        if name not in self._made:
            made = await asyncio.to_thread(self._render, view, template, values)
            if view is not self._view:
                return made
            self._made[name] = made
        return self._made[name]

    def _render(self, view: GateView, template: str, values: Mapping[str, Any]) -> Made:
        nonce, tag = secrets.token_urlsafe(16), view_tag(view)
        self._environment = self._environment or _templates()
        html = self._environment.get_template(template).render(view=view, nonce=nonce, tag=tag, **values)
        return Made(tag, html.encode(), content_policy(nonce))


def view_tag(view: GateView) -> str:
    """Return the ETag of what a view shows; deciding the same again does not change it."""
    shown = msgspec.json.encode(msgspec.structs.replace(view, decided=0.0))
    return f'"{hashlib.sha256(shown).hexdigest()[:24]}"'


def content_policy(nonce: str) -> str:
    """Return the Content-Security-Policy: the page's own script and style, requests to us, nothing else."""
    return (
        f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; connect-src 'self'; "
        "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


def closed_first(pool: PoolView) -> list[NodeView]:
    """Return the pool's nodes, those that need somebody first."""
    return sorted(pool.nodes, key=lambda node: (node.is_open, node.name))


def status_counts(pool: PoolView, check: str) -> str:
    """Return how one check stands on the pool's nodes, as in ``2 failed, 6 pass``."""
    counts = Counter(cell.status for node in pool.nodes for cell in node.cells if cell.check == check)
    ordered = sorted(counts.items(), key=lambda item: (item[0] in OPEN_STATUSES, item[0]))
    return ", ".join(f"{count} {status.replace('_', ' ')}" for status, count in ordered)


def reasons(banner: str) -> str:
    """Return a banner without its first word, which stands above it in large letters."""
    return banner.removeprefix("closed").removeprefix("open").lstrip(": ").strip()


def _templates() -> "jinja2.Environment":
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("exporter.web"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        uk=uk_time,
        iso=iso_time,
        closed_first=closed_first,
        reasons=reasons,
        words=lambda text: text.replace("_", " "),
    )
    environment.globals.update(status_counts=status_counts)
    return environment
