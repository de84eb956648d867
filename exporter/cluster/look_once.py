"""The facts of a cluster, read once: for commands, which do not stay to watch."""

import asyncio
from collections.abc import Mapping

from exporter.clock import Clock
from exporter.cluster.configuration import configure_by
from exporter.cluster.connection import Connection
from exporter.cluster.facts import ClusterFacts
from exporter.settings import KubernetesSettings
from probes._cluster import Cluster
from probes._workloads import DaemonSet
from probes.visibility._plugins import is_plugin

FIRST_LIMIT_SECONDS = 60.0
PLUGINS_SECONDS = 2.0


async def look_once(settings: KubernetesSettings, environment: Mapping[str, str], clock: Clock) -> Cluster:
    """Return what the API says now; what it refused, or did not say in a minute, stands in ``unread``."""
    connection = Connection(configure_by(settings, environment), clock.monotonic)
    facts = ClusterFacts(connection, settings, clock, is_plugin=_looks_like_plugin)
    reading = asyncio.create_task(facts.run())
    try:
        await facts.settled(FIRST_LIMIT_SECONDS)
        # The plugins' pods and ConfigMaps are asked for once the plugins are known.
        await _quiet(facts, clock)
        return facts.snapshot(facts.nodes())
    finally:
        reading.cancel()
        await asyncio.wait([reading])
        await connection.close()


async def _quiet(facts: ClusterFacts, clock: Clock) -> None:
    moved = asyncio.Event()
    facts.listen(moved.set)
    deadline = clock.monotonic() + FIRST_LIMIT_SECONDS
    while clock.monotonic() < deadline:
        moved.clear()
        await clock.wait(moved, PLUGINS_SECONDS)
        if not moved.is_set():
            return


def _looks_like_plugin(found: DaemonSet) -> bool:
    return is_plugin(found.spec, found.name)
