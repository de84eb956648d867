"""Both ends of a path are free for a whole probe: their slots are taken before it, kept during it, given back after.

Whoever tests takes them in the order of the nodes' names, so that no two can each hold what the other waits for.
"""

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Protocol

from exporter.assignment import Claim
from exporter.slots import HOLDER_AT_MOST_CHARACTERS, Lease
from probes._endpoint import Refused, Unreachable

WAIT_AT_MOST_SECONDS = 60.0
KEEP_EVERY_SECONDS = 1.5
BEYOND_PROBE_SECONDS = 10.0


class NodeSlots(Protocol):
    """The slots of one node, wherever it is."""

    node: str

    async def ask(self, lease: Lease) -> str:
        """Wait a little for a slot, or keep it; return by whom all are held. Raises Refused or Unreachable."""

    async def give_back(self, name: str) -> None:
        """End the lease; never raises."""


@dataclass(frozen=True)
class Wanted:
    """Slots for one probe of at most ``probe_seconds``. ``waiting`` hears who holds them meanwhile."""

    slots: tuple[NodeSlots, ...]
    claim: Claim
    holder: str
    probe_seconds: float
    wait_seconds: float = WAIT_AT_MOST_SECONDS
    waiting: Callable[[str], None] = lambda held_by: None
    id: str = field(default_factory=lambda: secrets.token_hex(12))

    @property
    def lease(self) -> Lease:
        """What each of the nodes is asked for."""
        limit_seconds = self.wait_seconds + self.probe_seconds + BEYOND_PROBE_SECONDS
        return Lease(self.id, self.claim, self.holder[:HOLDER_AT_MOST_CHARACTERS], limit_seconds)


@asynccontextmanager
async def held(wanted: Wanted, *, keep_every_seconds: float = KEEP_EVERY_SECONDS) -> AsyncIterator[None]:
    """Hold a slot at every node while inside. Raises Refused, with node_busy where none was free in time.

    A node that does not answer is left to the probe, which says so about the right end.
    """
    in_order = sorted({one.node: one for one in wanted.slots}.values(), key=lambda one: one.node)
    got: list[NodeSlots] = []
    keeping = asyncio.create_task(_keep(got, wanted.lease, keep_every_seconds), name=f"keep lease {wanted.id}")
    try:
        deadline = time.monotonic() + wanted.wait_seconds
        for slots in in_order:
            with suppress(Unreachable):
                await _take(slots, wanted, deadline)
                got.append(slots)
        yield
    finally:
        keeping.cancel()
        await asyncio.gather(*(slots.give_back(wanted.id) for slots in in_order), return_exceptions=True)


async def _take(slots: NodeSlots, wanted: Wanted, deadline: float) -> None:
    while held_by := await slots.ask(wanted.lease):
        sentence = f"{slots.node}: slot held by {held_by}"
        if time.monotonic() > deadline:
            raise Refused("node_busy", f"{sentence}; a free one wanted within {wanted.wait_seconds:g} s")
        wanted.waiting(sentence)


async def _keep(got: Sequence[NodeSlots], lease: Lease, every_seconds: float) -> None:
    while True:
        await asyncio.sleep(every_seconds)
        # What is lost is said by the node itself: it refuses or stops the test.
        await asyncio.gather(*(slots.ask(lease) for slots in list(got)), return_exceptions=True)
