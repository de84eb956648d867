"""A gate begins to lead with what the one before it has found, if it was there to hear of it."""

import logging
from collections.abc import Callable

from exporter.clock import Clock
from exporter.fabric.node_client import Address
from exporter.fabric.predecessor import Predecessor
from exporter.fabric.tester import Tester, kept_cycle
from exporter.ledger import Ledger

_log = logging.getLogger(__name__)


class Succession:
    """``leader`` says where the gate that leads answers; None while this one does, or nobody else is there."""

    def __init__(self, leader: Callable[[], Address | None], ledger: Ledger, tester: Tester, clock: Clock) -> None:
        self._predecessor = Predecessor(leader, clock)
        self._ledger = ledger
        self._tester = tester
        self._clock = clock

    async def run(self) -> None:
        """Listen until cancelled."""
        await self._predecessor.run()

    def begin(self) -> None:
        """Take over what was heard, once; called when this gate leads."""
        if not self._predecessor.held:
            return
        count = self._predecessor.hand_over(self._ledger)
        self._tester.cycle = kept_cycle(self._ledger, self._clock.now())
        self._tester.forget_unplanned()
        _log.warning("%d results of the gate that led before taken over", count)
