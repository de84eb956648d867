"""Write every node's condition and print what it took, as JSON: ``python -m tests.bench.kubernetes_conditions CONFIG``.

All nodes change at once, as when a gate begins to lead a cluster that nobody has told of yet.
"""

import asyncio
import json
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from exporter.clock import SystemClock
from exporter.cluster.configuration import configure_by
from exporter.cluster.connection import Connection
from exporter.cluster.kinds import NODES
from exporter.cluster.reflector import Reflector
from exporter.cluster.source import Source
from exporter.gate.verdict import NodeVerdict, PoolVerdict, Verdict
from exporter.outward.node_conditions import NodeConditions
from exporter.settings import KubernetesSettings

TICK_SECONDS = 0.001
LIMIT_SECONDS = 300.0


async def main(kubeconfig: str) -> None:
    """Follow the nodes, and write until each has been told, and nothing is due any more."""
    clock, listed = SystemClock(), asyncio.Event()
    connection = Connection(configure_by(KubernetesSettings("x", Path("/x"), Path(kubeconfig)), {}), clock.monotonic)
    kept = Reflector(connection, Source(NODES), clock, listed.set)
    reading = asyncio.create_task(kept.run())
    await listed.wait()
    names = sorted(one.name for one in kept.items.values())
    nodes = lambda: {one.name: one for one in kept.items.values()}  # noqa: E731
    sender = Counting(connection)
    conditions = NodeConditions(sender, clock, nodes, lambda: True)
    conditions.show(_verdict(names))
    stalls: list[float] = []
    ticking = asyncio.create_task(_tick(stalls))
    began, processor = time.perf_counter(), time.process_time()
    async with asyncio.timeout(LIMIT_SECONDS):
        while await conditions.step():
            pass
    figures = {"seconds": time.perf_counter() - began, "processor_seconds": time.process_time() - processor}
    for task in (ticking, reading):
        task.cancel()
    await connection.close()
    print(
        json.dumps({**figures, "nodes": sender.answered, "stall_seconds": max(stalls), "problem": conditions.problem})
    )


@dataclass
class Counting:
    """Sends by a connection, and counts what was answered."""

    connection: Connection
    answered: int = 0

    async def send(
        self, method: str, path: str, body: Any = None, *, query: Mapping[str, str] | None = None, limit: float = 0.0
    ) -> bytes:
        """As a Connection."""
        answer = await self.connection.send(method, path, body, query=query, limit=limit)
        self.answered += 1
        return answer


def _verdict(names: list[str]) -> Verdict:
    nodes = tuple(NodeVerdict(name, "all", True, "reachable", 0.0, ()) for name in names)
    pool = PoolVerdict("all", True, len(nodes), nodes)
    return Verdict("bench", is_open=True, banner="open", decided=time.time(), plan_digest="", pools=(pool,))


async def _tick(stalls: list[float]) -> None:
    while True:
        began = time.perf_counter()
        await asyncio.sleep(TICK_SECONDS)
        stalls.append(time.perf_counter() - began - TICK_SECONDS)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
