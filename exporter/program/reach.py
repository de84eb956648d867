"""A gate tests through each node's own guard: over HTTP, and directly where the node is its own process."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn, Protocol

from exporter.assignment import Claim
from exporter.fabric.expected import PathEnd
from exporter.fabric.guarded import GuardedEndpoint, GuardedGroupEndpoint, OwnSlots
from exporter.fabric.held import NodeSlots
from exporter.fabric.node_client import NodeClient
from exporter.fabric.remote import RemoteEndpoint, RemoteGroupEndpoint, RemoteSlots
from exporter.program.node import NodeRole
from exporter.slots import Lease
from probes._endpoint import Endpoint, Refused, TestRequest, Unreachable
from probes._group import BurstRequest, GroupEndpoint


class PodEnds(Protocol):
    """Test pods as ends of path tests."""

    def serves(self, node: str) -> bool:
        """Whether the ends of that node's tests are pods."""

    def client(self, node: str) -> NodeClient | None:
        """Return who asks the pod on that node; None where none answers now."""

    def uid(self, node: str) -> str:
        """Return the uid of the pod that answers on that node; empty where none does."""


@dataclass(frozen=True, slots=True)
class GateReach:
    """How one gate reaches the nodes. ``client`` returns None for a node that is not followed (any more).

    Where ``pods`` serve a node, a test pod on it is the end, as far as there is one now.
    """

    gate_claim: Callable[[], Claim]
    own: NodeRole | None
    client: Callable[[str], NodeClient | None]
    pods: Callable[[], PodEnds | None] = lambda: None

    @property
    def claim(self) -> Claim:
        """The gate and its term, as they are now."""
        return self.gate_claim()

    def slots(self, node: str) -> NodeSlots:
        """Return the slots of a node."""
        if self.own is not None and node == self.own.settings.node:
            return OwnSlots(node, self.own.tests)
        client = self._client(node)
        return RemoteSlots(client) if isinstance(client, NodeClient) else client

    def endpoint(self, end: PathEnd, lease: str) -> Endpoint:
        """Return an endpoint for a node's HCA."""
        if self.own is not None and end.node == self.own.settings.node:
            return GuardedEndpoint(end.node, end.hca, self.own.tests, lease)
        client = self._client(end.node, end.hca)
        return RemoteEndpoint(client, end.hca, lease) if isinstance(client, NodeClient) else client

    def group_endpoint(self, node: str, lease: str) -> GroupEndpoint:
        """Return an endpoint for a node's part of collectives."""
        if self.own is not None and node == self.own.settings.node:
            return GuardedGroupEndpoint(node, self.own.bursts, lease)
        client = self._client(node)
        return RemoteGroupEndpoint(client, lease) if isinstance(client, NodeClient) else client

    def absent(self, node: str) -> str:
        """Say why the node has no end of tests now, though it is to have one; empty where it has."""
        pods = self.pods()
        return "without test pod" if pods is not None and pods.serves(node) and pods.client(node) is None else ""

    def end(self, node: str) -> str:
        """Name what tests on the node run in now: its agent (empty) or a test pod. Another name is another end."""
        pods = self.pods()
        return (pods.uid(node) or "no pod") if pods is not None and pods.serves(node) else ""

    def _client(self, node: str, hca: str = "") -> "NodeClient | _Gone":
        pods = self.pods()
        if pods is not None and pods.serves(node):
            refused = Refused("no_test_pod", f"{node}: no test pod that answers found, one as the end of a test wanted")
            return pods.client(node) or _Gone(node, hca, refused)
        missing = Unreachable(f"{node}: no member of that name found in the settings, one wanted")
        return self.client(node) or _Gone(node, hca, missing)


@dataclass(slots=True)
class _Gone:
    """A node that was taken out of the settings while its turn came, or has no pod for it."""

    node: str
    hca: str
    error: Exception

    async def ask(self, lease: Lease) -> str:
        raise self.error

    async def give_back(self, name: str) -> None:
        return

    async def start(self, test: TestRequest | BurstRequest) -> NoReturn:
        raise self.error

    async def wait(self) -> NoReturn:
        raise self.error

    async def stop(self) -> None:
        return
