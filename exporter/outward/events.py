"""Kubernetes Events when a pool or node opens or closes: on the Node, and for pools on the gate's own Lease.

What comes and goes within a few seconds is not told; what is said again within ten minutes counts the same Event up.
"""

import asyncio
import logging
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from exporter.clock import Clock
from exporter.cluster.errors import ApiRefusal, ApiUnreachable, Expired
from exporter.gate.verdict import Verdict
from exporter.outward.node_conditions import REQUEST_SECONDS, Sender
from exporter.outward.notes import Note, notes
from probes._cluster import KubeNode

SETTLE_SECONDS = 5.0
AGAIN_SECONDS = 600.0
NOTES_AT_MOST = 20
NODE_EVENTS = "default"  # the API takes Events about what has no namespace there alone

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Told:
    name: str
    count: int
    at: float


class GateEvents:
    """Writes Events while ``leads`` says so. ``place`` is namespace and name of the gate's Lease.

    ``nodes`` returns the cluster's nodes, whose uid goes with an Event; ``instance`` names this process.
    """

    def __init__(
        self,
        sender: Sender,
        clock: Clock,
        place: tuple[str, str],
        nodes: Callable[[], Mapping[str, KubeNode]],
        leads: Callable[[], bool],
        instance: str,
    ) -> None:
        self._sender = sender
        self._clock = clock
        self._place = place
        self._nodes = nodes
        self._leads = leads
        self._instance = instance
        self._verdict: Verdict | None = None
        self._before: Verdict | None = None
        self._told: dict[tuple[str, str, str], _Told] = {}
        self.problem = ""

    def show(self, verdict: Verdict) -> None:
        """Let this be what is compared with what was told."""
        self._verdict = verdict

    async def run(self) -> None:
        """Tell until cancelled."""
        while True:
            await self.step()
            await self._clock.wait(asyncio.Event(), SETTLE_SECONDS)

    async def step(self) -> None:
        """Tell what changed since the last step. A gate that begins to lead takes what it finds as known."""
        before, self._before = self._before, self._verdict if self._leads() else None
        if self._before is None:
            return
        if before is None:
            _log.info("kubernetes: Events on what changes from here on")
            return
        said = notes(before, self._before)
        failures = [why for note in said[:NOTES_AT_MOST] if (why := await self._tell(note))]
        if said:
            self._note(failures)
        if len(said) > NOTES_AT_MOST:
            _log.warning("kubernetes: %d changes at once found, Events for %d written", len(said), NOTES_AT_MOST)

    def _note(self, failures: Sequence[str]) -> None:
        problem = f"write events: {failures[0]} found, an answer wanted" if failures else ""
        if problem and not self.problem:
            _log.warning("kubernetes: %s", problem)
        self.problem = problem

    async def _tell(self, note: Note) -> str:
        """Write one Event; return why it could not be done."""
        try:
            if not await self._count_up(note):
                await self._post(note)
        except (ApiRefusal, ApiUnreachable, Expired) as error:
            return str(error)
        return ""

    async def _count_up(self, note: Note) -> bool:
        """Say it once more by the Event that said it last; False where there is none, or none any more."""
        told, now = self._told.get(_key(note)), self._clock.monotonic()
        if told is None or now - told.at > AGAIN_SECONDS:
            return False
        change = {"count": told.count + 1, "lastTimestamp": self._time(), "message": note.message}
        try:
            await self._send("PATCH", f"{self._path(note)}/{told.name}", change)
        except ApiRefusal as refused:
            if refused.status == 404:
                return False
            raise
        self._told[_key(note)] = _Told(told.name, told.count + 1, now)
        return True

    async def _post(self, note: Note) -> None:
        name = f"{note.node or self._place[1]}.{secrets.token_hex(8)}"
        await self._send("POST", self._path(note), self._event(note, name))
        now = self._clock.monotonic()
        kept = {key: told for key, told in self._told.items() if now - told.at <= AGAIN_SECONDS}
        self._told = {**kept, _key(note): _Told(name, 1, now)}

    async def _send(self, method: str, path: str, body: Mapping[str, Any]) -> None:
        await self._sender.send(method, path, body, limit=REQUEST_SECONDS)

    def _event(self, note: Note, name: str) -> Mapping[str, Any]:
        now = self._time()
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": name, "namespace": self._namespace(note)},
            "involvedObject": self._about(note),
            "type": note.type,
            "reason": note.reason,
            "message": note.message,
            "source": {"component": "rdma-gate", "host": self._instance},
            "reportingComponent": "rdma-gate",
            "reportingInstance": self._instance,
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
        }

    def _about(self, note: Note) -> Mapping[str, str]:
        if not note.node:
            namespace, name = self._place
            return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "namespace": namespace, "name": name}
        node = self._nodes().get(note.node)
        return {"apiVersion": "v1", "kind": "Node", "name": note.node, **({"uid": node.uid} if node else {})}

    def _path(self, note: Note) -> str:
        return f"/api/v1/namespaces/{self._namespace(note)}/events"

    def _namespace(self, note: Note) -> str:
        return NODE_EVENTS if note.node else self._place[0]

    def _time(self) -> str:
        return datetime.fromtimestamp(self._clock.now(), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _key(note: Note) -> tuple[str, str, str]:
    return note.pool, note.node, note.reason
