"""A gate tests through each node's own guard: over HTTP, and directly where the node is its own process."""

from collections.abc import Callable
from dataclasses import dataclass

from exporter.assignment import Claim
from exporter.fabric.expected import PathEnd
from exporter.fabric.guarded import GuardedEndpoint, OwnSlots
from exporter.fabric.held import NodeSlots
from exporter.fabric.node_client import NodeClient
from exporter.fabric.remote import RemoteEndpoint, RemoteSlots
from exporter.program.node import NodeRole
from exporter.slots import Lease
from probes._endpoint import Endpoint, Outcome, Ready, TestRequest, Unreachable


@dataclass(frozen=True, slots=True)
class GateReach:
    """How one gate reaches the nodes. ``client`` returns None for a node that is not followed (any more)."""

    gate_claim: Callable[[], Claim]
    own: NodeRole | None
    client: Callable[[str], NodeClient | None]

    @property
    def claim(self) -> Claim:
        """The gate and its term, as they are now."""
        return self.gate_claim()

    def slots(self, node: str) -> NodeSlots:
        """Return the slots of a node."""
        if self.own is not None and node == self.own.settings.node:
            return OwnSlots(node, self.own.tests)
        client = self.client(node)
        return RemoteSlots(client) if client else _Gone(node)

    def endpoint(self, end: PathEnd, lease: str) -> Endpoint:
        """Return an endpoint for a node's HCA."""
        if self.own is not None and end.node == self.own.settings.node:
            return GuardedEndpoint(end.node, end.hca, self.own.tests, lease)
        client = self.client(end.node)
        return RemoteEndpoint(client, end.hca, lease) if client else _Gone(end.node, end.hca)


@dataclass(slots=True)
class _Gone:
    """A node that was taken out of the settings while its turn came."""

    node: str
    hca: str = ""

    async def ask(self, lease: Lease) -> str:
        raise self._unreachable

    async def give_back(self, name: str) -> None:
        return

    async def start(self, test: TestRequest) -> Ready:
        raise self._unreachable

    async def wait(self) -> Outcome:
        raise self._unreachable

    async def stop(self) -> None:
        return

    @property
    def _unreachable(self) -> Unreachable:
        return Unreachable(f"{self.node}: no member of that name found in the settings, one wanted")
