"""One end of a path, or one node's part of a burst, on another node: typed, over HTTP, never waited for without end."""

import asyncio

import msgspec

from exporter.fabric.node_client import Answer, NodeClient
from exporter.fabric.wire import (
    QUEUE_SECONDS,
    WAIT_SECONDS,
    StartBurst,
    StartTest,
    decode_burst_outcome,
    decode_burst_started,
    decode_lease_state,
    decode_outcome,
    decode_started,
    error_of,
)
from exporter.slots import Lease
from probes._endpoint import Outcome, Ready, TestRequest, Unreachable
from probes._group import BurstOutcome, BurstReady, BurstRequest

START_LIMIT_SECONDS = 15.0
# Ranks load their libraries before there is an id.
BURST_START_LIMIT_SECONDS = 90.0
WAIT_LIMIT_SECONDS = WAIT_SECONDS + 5.0
STOP_LIMIT_SECONDS = 3.0
LEASE_LIMIT_SECONDS = QUEUE_SECONDS + 3.0
# A process that ends has a second for it; what is not given back in time ends by the silence of its holder.
GIVE_BACK_LIMIT_SECONDS = 0.7
AGAIN_AFTER_SECONDS = (0.1, 0.4, 1.5)
# Each of a node's ranks leaves a log, and each of its iterations a time.
BURST_OUTCOME_LIMIT_BYTES = 64 << 20


class RemoteEndpoint:
    """The Endpoint of an HCA on another node, in the slot of ``lease``."""

    def __init__(self, client: NodeClient, hca: str, lease: str) -> None:
        self.node = client.node
        self.hca = hca
        self._lease = lease
        self._run = _RemoteRun(client, "/v1/tests")

    async def start(self, test: TestRequest) -> Ready:
        """Start the tool on the node. Raises Refused, ProbeError or Unreachable."""
        body = await self._run.start(msgspec.json.encode(StartTest(self._lease, test)), START_LIMIT_SECONDS)
        started = decode_started(body, self.node)
        self._run.id = started.id
        return started.ready

    async def wait(self) -> Outcome:
        """Wait for the tool's end. Raises Unreachable when the node does not answer any more."""
        return decode_outcome(await self._run.wait(), self.node)

    async def stop(self) -> None:
        """End whatever runs; a node that does not answer ends it by its own deadline."""
        await self._run.stop()


class RemoteGroupEndpoint:
    """The GroupEndpoint of another node, in the slot of ``lease``."""

    def __init__(self, client: NodeClient, lease: str) -> None:
        self.node = client.node
        self._lease = lease
        self._run = _RemoteRun(client, "/v1/bursts", BURST_OUTCOME_LIMIT_BYTES)

    async def start(self, burst: BurstRequest) -> BurstReady:
        """Start the node's ranks. Raises Refused, ProbeError or Unreachable."""
        body = await self._run.start(msgspec.json.encode(StartBurst(self._lease, burst)), BURST_START_LIMIT_SECONDS)
        started = decode_burst_started(body, self.node)
        self._run.id = started.id
        return started.ready

    async def wait(self) -> BurstOutcome:
        """Wait for the ranks' end. Raises Unreachable when the node does not answer any more."""
        return decode_burst_outcome(await self._run.wait(), self.node)

    async def stop(self) -> None:
        """End whatever runs; a node that does not answer ends it by its own deadline."""
        await self._run.stop()


class RemoteSlots:
    """The slots of another node."""

    def __init__(self, client: NodeClient) -> None:
        self.node = client.node
        self._client = client

    async def ask(self, lease: Lease) -> str:
        """Wait a little for a slot, or keep it; return by whom all are held. Raises Refused or Unreachable."""
        body = msgspec.json.encode(lease)
        answer = await self._client.ask("POST", "/v1/leases", body, limit_seconds=LEASE_LIMIT_SECONDS)
        return decode_lease_state(_good(answer, self.node), self.node).held_by

    async def give_back(self, name: str) -> None:
        """End the lease; a node that does not answer ends it when it hears no more of it."""
        try:
            await self._client.ask("DELETE", f"/v1/leases/{name}", limit_seconds=GIVE_BACK_LIMIT_SECONDS)
        except Unreachable:
            return


class _RemoteRun:
    """What runs on the node under ``id`` below ``path``; an empty id is nothing."""

    def __init__(self, client: NodeClient, path: str, limit_bytes: int = 8 << 20) -> None:
        self.id = ""
        self._client = client
        self._path = path
        self._limit_bytes = limit_bytes

    async def start(self, body: bytes, limit_seconds: float) -> bytes:
        self.id = ""
        return _good(await self._client.ask("POST", self._path, body, limit_seconds=limit_seconds), self._client.node)

    async def wait(self) -> bytes:
        if not self.id:
            raise Unreachable(f"{self._client.node}: no test started, one needed")
        while (answer := await self._poll()).status == 204:
            pass
        return _good(answer, self._client.node)

    async def stop(self) -> None:
        if not self.id:
            return
        try:
            await self._client.ask("DELETE", f"{self._path}/{self.id}", limit_seconds=STOP_LIMIT_SECONDS)
        except Unreachable:
            return

    async def _poll(self) -> Answer:
        for pause_seconds in AGAIN_AFTER_SECONDS:
            try:
                return await self._ask()
            except Unreachable:
                await asyncio.sleep(pause_seconds)
        return await self._ask()

    async def _ask(self) -> Answer:
        path, limit_bytes = f"{self._path}/{self.id}", self._limit_bytes
        return await self._client.ask("GET", path, limit_seconds=WAIT_LIMIT_SECONDS, limit_bytes=limit_bytes)


def _good(answer: Answer, node: str) -> bytes:
    if answer.status != 200:
        raise error_of(answer.status, answer.body, node)
    return answer.body
