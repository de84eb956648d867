"""What the HTTP face is given: everything behind it, passed in once."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from aiohttp import web

from exporter.assignment import Assignment
from exporter.fabric.running_bursts import RunningBursts
from exporter.fabric.running_tests import RunningTests
from exporter.keys import Message
from exporter.ledger import Ledger
from exporter.metrics.scrape import Scrape
from exporter.view import GateView
from exporter.web.page import Pages


class Verifier(Protocol):
    """Accepts signed requests; see exporter.keys."""

    def check(self, header: str, message: Message) -> None:
        """Raise Unauthorized unless the header signs the message."""


def _nothing_wrong() -> str:
    return ""


@dataclass(frozen=True)
class Services:
    """One process's services. Without ``verifier`` only this machine may ask; without ``view`` there is no gate here.

    ``assign`` takes over an assignment and raises ValueError for one that is not this node's; ``pause`` stops or
    allows tests, with who asked; ``explain`` takes node and check and raises KeyError; ``snapshot`` takes who asks;
    ``not_ready`` is a sentence while the process cannot serve yet; ``paths`` is the path matrix, ready for JSON.
    """

    node: str
    ledger: Ledger
    scrape: Scrape
    verifier: Verifier | None = None
    tests: RunningTests | None = None
    bursts: RunningBursts | None = None
    assign: Callable[[Assignment], None] | None = None
    pause: Callable[[bool, str], None] | None = None
    view: Callable[[], GateView] | None = None
    paths: Callable[[], Any] = field(default=tuple)
    explain: Callable[[str, str], Any] | None = None
    snapshot: Callable[[str], Awaitable[bytes]] | None = None
    pages: Pages = field(default_factory=Pages)
    not_ready: Callable[[], str] = _nothing_wrong


SERVICES = web.AppKey("services", Services)
