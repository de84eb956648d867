"""A gate drives the node in its own process through the same guard as any other node."""

from collections.abc import Callable

from exporter.fabric.running_tests import RunningTests
from probes._endpoint import Outcome, Ready, TestRequest, Unreachable

HEARD_SECONDS = 1.0


class GuardedEndpoint:
    """The Endpoint of an HCA of this very process. ``term`` is the leader's, as it is now."""

    def __init__(self, node: str, hca: str, tests: RunningTests, term: Callable[[], int]) -> None:
        self.node = node
        self.hca = hca
        self._tests = tests
        self._term = term
        self._started = ""

    async def start(self, test: TestRequest) -> Ready:
        """Start the tool once the guard admits it. Raises Refused or ProbeError."""
        self._started = ""
        started = await self._tests.start(test, self._term())
        self._started = started.id
        return started.ready

    async def wait(self) -> Outcome:
        """Wait for the tool's end. Raises Unreachable when nothing was started."""
        if not self._started:
            raise Unreachable(f"{self.node} {self.hca}: no test started, one needed")
        # Asking again and again is what tells the node that its gate still lives.
        while (outcome := await self._tests.wait(self._started, HEARD_SECONDS)) is None:
            pass
        return outcome

    async def stop(self) -> None:
        """End whatever runs."""
        if self._started:
            await self._tests.stop(self._started)
