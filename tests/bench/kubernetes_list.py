"""List the nodes and print what it took, as JSON: ``python -m tests.bench.kubernetes_list KUBECONFIG WAY``."""

import asyncio
import json
import resource
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

from exporter.clock import SystemClock
from exporter.cluster.configuration import configure_by
from exporter.cluster.connection import Connection
from exporter.cluster.kinds import NODES
from exporter.cluster.reflector import Reflector
from exporter.cluster.source import Source
from exporter.settings import KubernetesSettings

TICK_SECONDS = 0.001
# One list alone would mostly tell what else the machine did in that moment.
RUNS = 5


async def main(kubeconfig: str, way: str) -> None:
    """Measure one way: ``ours``, or ``package`` for the typed list of the kubernetes package's own client."""
    settings = KubernetesSettings("default", Path("/nowhere"), Path(kubeconfig))
    configure = configure_by(settings, {})
    # The first costs half a second of imports, in a thread, which has its own figure.
    began = time.perf_counter()
    configuration = await configure()
    ready_seconds = time.perf_counter() - began
    before_mib = _resident_mib()
    stalls: list[float] = []
    ticking = asyncio.create_task(_tick(stalls))
    lists = []
    for _ in range(RUNS if way == "ours" else 1):
        await asyncio.sleep(10 * TICK_SECONDS)
        stalls.clear()
        began = time.perf_counter()
        count = await (_ours(configure) if way == "ours" else _package(configuration))
        seconds = time.perf_counter() - began
        await asyncio.sleep(10 * TICK_SECONDS)
        lists.append((seconds, max(stalls)))
    ticking.cancel()
    seconds, stall_seconds = map(median, zip(*lists, strict=True))
    figures = {"nodes": count, "list_seconds": seconds, "stall_seconds": stall_seconds, "ready_seconds": ready_seconds}
    print(json.dumps({**figures, "resident_mib": _resident_mib(), "grown_mib": _resident_mib() - before_mib}))


async def _ours(configure: Any) -> int:
    clock, listed = SystemClock(), asyncio.Event()
    connection = Connection(configure, clock.monotonic)
    kept = Reflector(connection, Source(NODES), clock, listed.set)
    reading = asyncio.create_task(kept.run())
    await listed.wait()
    reading.cancel()
    await asyncio.wait([reading])
    await connection.close()
    return len(kept.items)


async def _package(configuration: Any) -> int:
    from kubernetes.aio.client import ApiClient, CoreV1Api

    async with ApiClient(configuration) as client:
        found = await CoreV1Api(client).list_node()
    return len(found.items)


async def _tick(stalls: list[float]) -> None:
    while True:
        began = time.perf_counter()
        await asyncio.sleep(TICK_SECONDS)
        stalls.append(time.perf_counter() - began - TICK_SECONDS)


def _resident_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
