"""The ledger reaches the disk every few seconds and at the end; a disk that takes nothing is said, and tried again."""

import asyncio
import logging

from exporter.clock import Clock
from exporter.ledger import Ledger

SAVE_EVERY_SECONDS = 5.0

_log = logging.getLogger(__name__)


async def save_forever(ledger: Ledger, clock: Clock) -> None:
    """Save what changed, every few seconds, until cancelled."""
    while True:
        await clock.wait(asyncio.Event(), SAVE_EVERY_SECONDS)
        await save(ledger)


async def save(ledger: Ledger) -> None:
    """Save what changed now; a failure is logged, and the next save tries again."""
    try:
        await ledger.save()
    except OSError as error:
        ledger.dirty = True
        _log.error("ledger: not saved, %s", error)
