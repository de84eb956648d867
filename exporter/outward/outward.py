"""Conditions and Events together, each only where the settings ask for it."""

import asyncio
from collections.abc import Callable, Mapping

from exporter.clock import Clock
from exporter.gate.verdict import Verdict
from exporter.outward.events import GateEvents
from exporter.outward.node_conditions import NodeConditions, Sender
from exporter.settings import KubernetesSettings
from probes._cluster import KubeNode


class Outward:
    """What is told to the cluster of ``settings``; ``instance`` is the name of this process."""

    def __init__(
        self,
        sender: Sender,
        settings: KubernetesSettings,
        clock: Clock,
        nodes: Callable[[], Mapping[str, KubeNode]],
        leads: Callable[[], bool],
        instance: str,
    ) -> None:
        conditions = [NodeConditions(sender, clock, nodes, leads)] if settings.node_conditions else []
        place = settings.namespace, settings.lease
        events = [GateEvents(sender, clock, place, nodes, leads, instance)] if settings.events else []
        self._tellers: tuple[NodeConditions | GateEvents, ...] = (*conditions, *events)

    def show(self, verdict: Verdict) -> None:
        """Let this be told from now on."""
        for one in self._tellers:
            one.show(verdict)

    async def run(self) -> None:
        """Tell until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for one in self._tellers:
                tasks.create_task(one.run(), name=f"kubernetes {type(one).__name__}")

    @property
    def problems(self) -> tuple[str, ...]:
        """What could not be written, a sentence each."""
        return tuple(f"kubernetes: {one.problem}" for one in self._tellers if one.problem)
