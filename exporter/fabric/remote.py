"""One end of a path on another node, driven over HTTP: typed, and never waited for without end."""

import asyncio

import msgspec

from exporter.fabric.node_client import Answer, NodeClient
from exporter.fabric.wire import (
    QUEUE_SECONDS,
    WAIT_SECONDS,
    StartTest,
    decode_lease_state,
    decode_outcome,
    decode_started,
    error_of,
)
from exporter.slots import Lease
from probes._endpoint import Outcome, Ready, TestRequest, Unreachable

START_LIMIT_SECONDS = 15.0
WAIT_LIMIT_SECONDS = WAIT_SECONDS + 5.0
STOP_LIMIT_SECONDS = 3.0
LEASE_LIMIT_SECONDS = QUEUE_SECONDS + 3.0
# A process that ends has a second for it; what is not given back in time ends by the silence of its holder.
GIVE_BACK_LIMIT_SECONDS = 0.7
AGAIN_AFTER_SECONDS = (0.1, 0.4, 1.5)


class RemoteEndpoint:
    """The Endpoint of an HCA on another node, in the slot of ``lease``."""

    def __init__(self, client: NodeClient, hca: str, lease: str) -> None:
        self.node = client.node
        self.hca = hca
        self._client = client
        self._lease = lease
        self._started = ""

    async def start(self, test: TestRequest) -> Ready:
        """Start the tool on the node. Raises Refused, ProbeError or Unreachable."""
        self._started = ""
        body = msgspec.json.encode(StartTest(self._lease, test))
        answer = await self._client.ask("POST", "/v1/tests", body, limit_seconds=START_LIMIT_SECONDS)
        started = decode_started(self._body(answer), self.node)
        self._started = started.id
        return started.ready

    async def wait(self) -> Outcome:
        """Wait for the tool's end. Raises Unreachable when the node does not answer any more."""
        if not self._started:
            raise Unreachable(f"{self.node} {self.hca}: no test started, one needed")
        while (answer := await self._poll()).status == 204:
            pass
        return decode_outcome(self._body(answer), self.node)

    async def stop(self) -> None:
        """End whatever runs; a node that does not answer ends it by its own deadline."""
        if not self._started:
            return
        try:
            await self._client.ask("DELETE", f"/v1/tests/{self._started}", limit_seconds=STOP_LIMIT_SECONDS)
        except Unreachable:
            return

    async def _poll(self) -> Answer:
        path = f"/v1/tests/{self._started}"
        for pause_seconds in AGAIN_AFTER_SECONDS:
            try:
                return await self._client.ask("GET", path, limit_seconds=WAIT_LIMIT_SECONDS)
            except Unreachable:
                await asyncio.sleep(pause_seconds)
        return await self._client.ask("GET", path, limit_seconds=WAIT_LIMIT_SECONDS)

    def _body(self, answer: Answer) -> bytes:
        return _good(answer, self.node)


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


def _good(answer: Answer, node: str) -> bytes:
    if answer.status != 200:
        raise error_of(answer.status, answer.body, node)
    return answer.body
