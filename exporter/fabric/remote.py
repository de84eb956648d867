"""One end of a path on another node, driven over HTTP: typed, and never waited for without end."""

import asyncio
from collections.abc import Callable

import msgspec

from exporter.fabric.node_client import Answer, NodeClient
from exporter.fabric.wire import WAIT_SECONDS, StartTest, decode_outcome, decode_started, error_of
from probes._endpoint import Outcome, Ready, TestRequest, Unreachable

START_LIMIT_SECONDS = 15.0
WAIT_LIMIT_SECONDS = WAIT_SECONDS + 5.0
STOP_LIMIT_SECONDS = 3.0
AGAIN_AFTER_SECONDS = (0.1, 0.4, 1.5)


class RemoteEndpoint:
    """The Endpoint of an HCA on another node. ``term`` is the leader's, as it is now."""

    def __init__(self, client: NodeClient, hca: str, term: Callable[[], int]) -> None:
        self.node = client.node
        self.hca = hca
        self._client = client
        self._term = term
        self._started = ""

    async def start(self, test: TestRequest) -> Ready:
        """Start the tool on the node. Raises Refused, ProbeError or Unreachable."""
        self._started = ""
        body = msgspec.json.encode(StartTest(self._term(), test))
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
        if answer.status != 200:
            raise error_of(answer.status, answer.body, self.node)
        return answer.body
