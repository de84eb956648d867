"""A gate that waits to lead keeps what the leading one has found, so that it need not test every path anew.

Nothing of it counts, or shows, before this gate leads: it is held apart from the ledger until then. Each run keeps its
age, so what lapses does so as if nobody had taken over.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import urlencode

import aiohttp

from exporter.clock import Clock
from exporter.fabric.carried import carried
from exporter.fabric.node_client import Address, NodeClient
from exporter.fabric.nodes import POLL_LIMIT_SECONDS, RECORDS_LIMIT_BYTES
from exporter.fabric.wire import Records, decode_records, error_of
from exporter.ledger import Key, Ledger, Record
from probes._endpoint import Refused, Unreachable

AGAIN_SECONDS = 2.0

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Held:
    """A record with the monotonic second at which it would have been received."""

    record: Record
    received: float


@dataclass
class Predecessor:
    """Follows whom ``leader`` names (None: nobody, or this very gate). ``held`` are its runs by key."""

    leader: Callable[[], Address | None]
    clock: Clock
    held: dict[Key, _Held] = field(default_factory=dict)
    numbers: dict[str, float] = field(default_factory=dict)
    _epoch: str = ""
    _seq: int = 0
    _address: Address | None = None
    _said: str = ""

    async def run(self) -> None:
        """Follow until cancelled."""
        async with aiohttp.ClientSession() as session:
            while True:
                address = self.leader()
                if address is None or not await self._follow(session, address):
                    await self.clock.wait(asyncio.Event(), AGAIN_SECONDS)

    def hand_over(self, ledger: Ledger) -> int:
        """Put into the ledger what it does not have, or has older; return how many runs these are."""
        now, count = self.clock.monotonic(), 0
        for key, one in self.held.items():
            age_seconds, own = now - one.received, ledger.get(key)
            if own is None or own.received < ledger.now() - age_seconds:
                ledger.receive(one.record, age_seconds=age_seconds)
                count += 1
        ledger.tokens.update(self.numbers)
        self.held.clear()
        self._epoch = ""
        return count

    async def _follow(self, session: aiohttp.ClientSession, address: Address) -> bool:
        if address != self._address:
            self._address, self._epoch = address, ""
        after = {"after": self._seq, "epoch": self._epoch} if self._epoch else {"after": -1}
        path = f"/v1/records?{urlencode({**after, 'carried': 1})}"
        client = NodeClient(session, address, self.clock.now)
        try:
            answer = await client.ask("GET", path, limit_seconds=POLL_LIMIT_SECONDS, limit_bytes=RECORDS_LIMIT_BYTES)
            if answer.status != 200:
                raise error_of(answer.status, answer.body, address.node)
            self._take(decode_records(answer.body, address.node))
        except (Unreachable, Refused) as error:
            self._say(f"{error}; paths are tested anew if this gate has to lead now")
            return False
        self._say("")
        return True

    def _take(self, found: Records) -> None:
        if found.epoch != self._epoch:
            _log.info("following the leading gate: %d results kept for a takeover", len(found.records))
            # Another life of its ledger, or another leader: what it does not have it has dropped.
            self._epoch, self._seq = found.epoch, 0
            self.held.clear()
        now = self.clock.monotonic()
        for record in carried(found.records):
            self.held[record.key] = _Held(record, now - max(0.0, found.now - record.received))
        self._seq, self.numbers = found.seq, dict(found.numbers)

    def _say(self, problem: str) -> None:
        if problem and problem != self._said:
            _log.warning("the leading gate: %s", problem)
        self._said = problem
