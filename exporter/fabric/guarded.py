"""A gate drives the node in its own process through the same guard as any other node."""

from collections.abc import Awaitable, Callable

from exporter.fabric.running import O
from exporter.fabric.running_bursts import RunningBursts
from exporter.fabric.running_tests import RunningTests
from exporter.fabric.wire import QUEUE_SECONDS
from exporter.slots import Lease
from probes._endpoint import Outcome, Ready, TestRequest, Unreachable
from probes._group import BurstOutcome, BurstReady, BurstRequest

HEARD_SECONDS = 1.0


class GuardedEndpoint:
    """The Endpoint of an HCA of this very process, in the slot of ``lease``."""

    def __init__(self, node: str, hca: str, tests: RunningTests, lease: str) -> None:
        self.node = node
        self.hca = hca
        self._tests = tests
        self._lease = lease
        self._started = ""

    async def start(self, test: TestRequest) -> Ready:
        """Start the tool once the guard admits it. Raises Refused or ProbeError."""
        self._started = ""
        started = await self._tests.start(test, self._lease)
        self._started = started.id
        return started.ready

    async def wait(self) -> Outcome:
        """Wait for the tool's end. Raises Unreachable when nothing was started."""
        return await _end_of(self._tests.wait, self._started, self.node)

    async def stop(self) -> None:
        """End whatever runs."""
        if self._started:
            await self._tests.stop(self._started)


class GuardedGroupEndpoint:
    """The GroupEndpoint of this very process, in the slot of ``lease``."""

    def __init__(self, node: str, bursts: RunningBursts, lease: str) -> None:
        self.node = node
        self._bursts = bursts
        self._lease = lease
        self._started = ""

    async def start(self, burst: BurstRequest) -> BurstReady:
        """Start this node's ranks once the guard admits them. Raises Refused or ProbeError."""
        self._started = ""
        started = await self._bursts.start(burst, self._lease)
        self._started = started.id
        return started.ready

    async def wait(self) -> BurstOutcome:
        """Wait for the ranks' end. Raises Unreachable when nothing was started."""
        return await _end_of(self._bursts.wait, self._started, self.node)

    async def stop(self) -> None:
        """End whatever runs."""
        if self._started:
            await self._bursts.stop(self._started)


class OwnSlots:
    """The slots of the node in this very process."""

    def __init__(self, node: str, tests: RunningTests) -> None:
        self.node = node
        self._guard = tests.guard

    async def ask(self, lease: Lease) -> str:
        """Wait a little for a slot, or keep it; return by whom all are held. Raises Refused."""
        self._guard.heard()
        return await self._guard.take_slot(lease, QUEUE_SECONDS)

    async def give_back(self, name: str) -> None:
        """End the lease."""
        self._guard.slots.give_back(name)


async def _end_of(wait: Callable[[str, float], Awaitable[O | None]], started: str, node: str) -> O:
    if not started:
        raise Unreachable(f"{node}: no test started, one needed")
    # Asking again and again is what tells the node that its gate still lives.
    while (outcome := await wait(started, HEARD_SECONDS)) is None:
        pass
    return outcome
