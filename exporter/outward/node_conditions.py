"""Each node's condition ``rdma-gate.io/RDMAReady`` says what the gate that leads found; nothing else is touched.

A strategic merge patch names this one condition, so that kubelet and others keep theirs. A gate that ends or no longer
leads leaves the conditions as they are: a restart of the gate must not taint a cluster. The next leader goes on within
20 seconds, and where there is none the heartbeats end and RDMAGateDown pages.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Protocol

from exporter.clock import Clock
from exporter.cluster.backoff import Backoff
from exporter.cluster.errors import ApiRefusal, ApiUnreachable, Expired
from exporter.gate.verdict import Verdict
from exporter.outward.due import DEFAULT_PACE, TYPE, Due, Moment, Pace, Written, due
from exporter.outward.standing import Standing, standings, stranger
from probes._cluster import KubeNode

AT_ONCE = 10
# Shorter than the time between a leader's giving up and another's taking over.
REQUEST_SECONDS = 3.0
LOOK_SECONDS = 1.0
MANAGER = {"fieldManager": "rdma-gate"}
_GONE = (404, 409)

_log = logging.getLogger(__name__)


class Sender(Protocol):
    """Where patches go: a Connection."""

    async def send(
        self, method: str, path: str, body: Any = None, *, query: Mapping[str, str] | None = None, limit: float = 0.0
    ) -> bytes:
        """Send ``body``; ApiRefusal, Expired or ApiUnreachable."""


class NodeConditions:
    """Writes conditions while ``leads`` says so. ``nodes`` returns the cluster's nodes as they are watched."""

    def __init__(
        self,
        sender: Sender,
        clock: Clock,
        nodes: Callable[[], Mapping[str, KubeNode]],
        leads: Callable[[], bool],
        pace: Pace = DEFAULT_PACE,
    ) -> None:
        self._sender = sender
        self._clock = clock
        self._nodes = nodes
        self._leads = leads
        self._pace = pace
        self._verdict: Verdict | None = None
        self._planned: Mapping[str, Standing] | None = None
        self._written: dict[str, Written] = {}
        self._led_since = float("-inf")
        self._led = False
        self._backoff = Backoff()
        self.problem = ""

    def show(self, verdict: Verdict) -> None:
        """Let this be what the nodes are told from now on."""
        self._verdict, self._planned = verdict, None

    async def run(self) -> None:
        """Write until cancelled."""
        while True:
            more = await self.step()
            if not more:
                await self._clock.wait(asyncio.Event(), LOOK_SECONDS)

    async def step(self) -> bool:
        """Write what is most urgent, a few nodes at once; return whether there is more to write at once."""
        self._note_leadership()
        if not self._led or self._verdict is None:
            return False
        every = due(self._wanted(self._verdict), self._nodes(), self._moment(), self._pace)
        batch = every[:AT_ONCE]
        failures = [one for one in await asyncio.gather(*map(self._write, batch)) if one]
        await self._after(batch, failures)
        return len(every) > AT_ONCE

    def _wanted(self, verdict: Verdict) -> Mapping[str, Standing]:
        """Nodes of the plan, and those that say something although the plan no longer names them."""
        planned = self._planned = self._planned or standings(verdict)
        left = [name for name, node in self._nodes().items() if TYPE in node.conditions and name not in planned]
        return {**planned, **{name: stranger(name, verdict) for name in left}}

    def _moment(self) -> Moment:
        return Moment(self._clock.monotonic(), self._led_since, self._written)

    def _note_leadership(self) -> None:
        leads = self._leads()
        if leads and not self._led:
            self._led_since = self._clock.monotonic()
            self._written.clear()
        self._led = leads

    async def _write(self, one: Due) -> Exception | None:
        """Write one; return why it could not be done. A node that is gone, or is another by now, is no failure."""
        path, body = f"/api/v1/nodes/{one.node.name}/status", self._body(one)
        try:
            await self._sender.send("PATCH", path, body, query=MANAGER, limit=REQUEST_SECONDS)
        except ApiRefusal as refused:
            if refused.status not in _GONE:
                return refused
        except (ApiUnreachable, Expired) as failed:
            return failed
        self._written[one.node.name] = Written(one.node.uid, one.standing, self._clock.monotonic())
        return None

    def _body(self, one: Due) -> Mapping[str, Any]:
        now = datetime.fromtimestamp(self._clock.now(), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        condition = {
            "type": TYPE,
            "status": one.standing.status,
            "reason": one.standing.reason,
            "message": one.standing.message,
            "lastHeartbeatTime": now,
            **({"lastTransitionTime": now} if one.changed else {}),
        }
        return {"metadata": {"uid": one.node.uid}, "status": {"conditions": [condition]}}

    async def _after(self, batch: Sequence[Due], failures: Sequence[Exception]) -> None:
        if not failures:
            if batch:
                self._backoff.succeeded()
                self.problem = ""
            return
        problem = f"patch nodes/status: {failures[0]} found, an answer wanted"
        if not self.problem:
            _log.warning("kubernetes: %s", problem)
        self.problem = problem
        asked = max((one.retry_after_seconds for one in failures if isinstance(one, ApiRefusal)), default=0.0)
        await self._clock.wait(asyncio.Event(), self._backoff.after_failure(asked))
