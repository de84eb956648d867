"""A test pod is gone when the API no longer knows its UID, and not when its deletion was asked for."""

import asyncio
import logging

from exporter.clock import Clock
from exporter.cluster.errors import ApiRefusal, ApiUnreachable, Expired
from exporter.pods.api import PodsApi
from exporter.pods.course import Patience
from probes._workloads import Pod

FAILURES = (ApiRefusal, ApiUnreachable, Expired)

_log = logging.getLogger(__name__)


async def remove(api: PodsApi, pod: Pod, clock: Clock, patience: Patience) -> bool:
    """Delete it, and return whether it was seen to be gone in time. It is never forced: it would keep its devices."""
    until = clock.monotonic() + patience.removal_seconds
    asked = False
    while True:
        try:
            if not asked:
                await api.delete(pod)
                asked = True
            if await api.get(pod) is None:
                return True
        except FAILURES as error:
            _log.warning("%s: %s found, its deletion wanted", pod, error)
        if clock.monotonic() >= until:
            return False
        await clock.wait(asyncio.Event(), patience.look_seconds)


async def ask_for_end(api: PodsApi, pod: Pod, limit_seconds: float) -> None:
    """Ask for its deletion once, and in this time alone; whoever leads next sees to the rest."""
    try:
        async with asyncio.timeout(limit_seconds):
            await api.delete(pod, limit_seconds)
    except (*FAILURES, TimeoutError) as error:
        why = str(error) or "no answer in time"
        _log.warning("%s: %s found, its deletion wanted; the next gate that leads removes it", pod, why)
