"""The lab, its gate, and the real Prometheus and Alertmanager that watch them, as one world to be broken."""

import asyncio
import json
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any

from deploy.demo.monitoring import Monitoring
from deploy.demo.receiver import Notification
from deploy.demo.session import Session
from deploy.demo.told import subject
from deploy.demo.told import told as in_words
from deploy.faults.at_gate import closed_nodes, see_at_gate
from deploy.faults.drive import make
from deploy.faults.machine import state_of
from deploy.faults.sights import AtGate
from deploy.lab.progress import Say
from deploy.pages.cases import Case
from deploy.pages.drive import Shown

WATCHES_LIMIT_SECONDS = 60.0
FIRED = 'max_over_time(ALERTS{{alertstate="firing"}}[{seconds:.0f}s])'


class NotWatchedError(Exception):
    """Prometheus does not scrape, or tells nobody; the message says which."""


@dataclass
class LabWorld:
    """See World in drive."""

    session: Session
    monitoring: Monitoring
    say: Say

    def now(self) -> float:
        """Monotonic seconds, as in a notification's ``at``."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Let them pass."""
        await asyncio.sleep(seconds)

    async def make(self, case: Case) -> Shown:
        """Break the nodes, or stop the gate, whose page then shows nothing."""
        if case.sight is None:
            began = time.monotonic()
            await self.session.stop_gate()
            return Shown(True, "no answer", time.monotonic() - began, began)
        return await self._make_at_nodes(case, case.sight)

    async def restore(self, case: Case) -> None:
        """Undo every fault of the lab, and start the gate again."""
        if case.sight is None:
            await self.session.stop_gate()
            await self.session.start_gate()
        elif self.session.lab is not None:
            await asyncio.to_thread(self.session.lab.restore)

    def told(self) -> list[Notification]:
        """Return the notifications since the last call."""
        return self.monitoring.told()

    async def unrest(self) -> str:
        """Return why it is not at rest: a node closed, the gate silent, or alerts that are pending or fire."""
        try:
            view = await asyncio.to_thread(self.session.gate)
        except (OSError, urllib.error.URLError) as error:
            return f"gate: {error}"
        if closed := closed_nodes(view):
            return f"gate: {', '.join(closed)}"
        found = await self._ask("/api/v1/alerts")
        return "; ".join(subject(one) for one in found["alerts"])

    async def state(self) -> frozenset[str]:
        """Return the machines' state, one line for each fact."""
        assert self.session.lab is not None
        return await asyncio.to_thread(state_of, self.session.lab)

    async def fired(self, seconds: float) -> tuple[str, ...]:
        """Return what fired in the last seconds, told or held back."""
        query = urllib.parse.urlencode({"query": FIRED.format(seconds=seconds)})
        found = (await self._ask(f"/api/v1/query?{query}"))["result"]
        return tuple(sorted({subject({"labels": one["metric"]}) for one in found}))

    async def wait_until_watched(self) -> None:
        """Return once every target is scraped and Alertmanager is known; nobody is told anything before."""
        deadline = time.monotonic() + WATCHES_LIMIT_SECONDS
        missing = "Prometheus does not answer"
        while time.monotonic() < deadline:
            try:
                missing = "; ".join([text async for text in self._unwatched()])
            except (OSError, urllib.error.URLError) as error:
                missing = f"Prometheus: {error}"
            if not missing:
                return
            await self.sleep(1.0)
        raise NotWatchedError(missing)

    async def come_to_rest(self, limit_seconds: float) -> str:
        """Wait until nothing is wrong; return what was told, or is still wrong, before any fault was made."""
        deadline = time.monotonic() + limit_seconds
        while (wrong := await self.unrest()) and time.monotonic() < deadline:
            await self.sleep(1.0)
        return "; ".join([*map(in_words, self.told()), *([wrong] if wrong else [])])

    async def _unwatched(self) -> AsyncIterator[str]:
        targets = (await self._ask("/api/v1/targets"))["activeTargets"]
        for one in targets:
            if one["health"] != "up":
                yield f"{one['scrapeUrl']}: {one['lastError'] or 'not scraped yet'}"
        if not targets:
            yield "no targets"
        if not (await self._ask("/api/v1/alertmanagers"))["activeAlertmanagers"]:
            yield "no Alertmanager"

    async def _make_at_nodes(self, case: Case, sight: AtGate) -> Shown:
        assert self.session.lab is not None
        making = asyncio.create_task(make(self.session.lab, case.made))
        seen = await see_at_gate(self.session, sight, making)
        words = f"{seen.status} {seen.reason}: {seen.summary} found, {sight.wanted} wanted"
        return Shown(seen.as_wanted, words, seen.seconds, await making)

    async def _ask(self, path: str) -> Any:
        return await asyncio.to_thread(_data_of, f"{self.monitoring.prometheus}{path}")


def _data_of(url: str) -> Any:
    with urllib.request.urlopen(url, timeout=10) as answer:
        found: Mapping[str, Any] = json.load(answer)
        return found["data"]
