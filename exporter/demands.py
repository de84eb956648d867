"""What a test asks of this node: bytes by direction, quiet ports, and what speaks against it in itself."""

from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping
from dataclasses import dataclass

from exporter.assignment import Assignment
from exporter.burst_bounds import burst_refusals
from exporter.leader import Refusal
from exporter.refusals import request_refusals, slot_refusals
from exporter.slots import Place
from probes._collective_size import bytes_between_nodes
from probes._endpoint import TestRequest, Tool
from probes._group import BurstRequest

BOTH_WAYS = frozenset({Tool.RC_PINGPONG, Tool.WRITE_LAT, Tool.SEND_LAT})


@dataclass(frozen=True, slots=True)
class PortLoad:
    """The traffic of a port before a test and the port's rate, both in bytes per second; None = cannot be told."""

    bytes_per_second: float | None
    rate_bytes_per_second: float | None


Loads = Callable[[], Awaitable[Mapping[str, PortLoad]]]


@dataclass(frozen=True, slots=True)
class Demand:
    """``cost_bytes`` by direction (sent, received); ``loads`` measures the ports that have to be quiet, by HCA."""

    cost_bytes: Mapping[str, int]
    loads: Loads
    refusals: Callable[[Assignment], Iterator[Refusal]]
    slot_refusals: Callable[[str, Place | None], Iterator[Refusal]]

    @property
    def all_bytes(self) -> int:
        """Bytes as the budget counts them."""
        return sum(self.cost_bytes.values())


def demand_of_test(request: TestRequest, loads: Loads) -> Demand:
    """Return what one end of a path test asks."""
    return Demand(
        dict.fromkeys(_directions(request), request.payload_bytes),
        loads,
        lambda assignment: request_refusals(assignment, request),
        # Both ends of a path inside one node are one test.
        lambda node, place: slot_refusals(node, place, ends=2 if request.peer == node else 1),
    )


def demand_of_burst(burst: BurstRequest, addresses: Collection[str], loads: Loads) -> Demand:
    """Return what a node's part of a burst asks. ``addresses`` are those of the members that it names."""
    crossing = bytes_between_nodes(burst) if burst.ranks > 0 else 0
    return Demand(
        {"sent": crossing, "received": crossing} if crossing else {},
        loads if crossing else _none,
        lambda assignment: burst_refusals(assignment, burst, addresses),
        lambda node, place: slot_refusals(node, place, ends=1),
    )


async def _none() -> Mapping[str, PortLoad]:
    """A burst within one node uses no port."""
    return {}


def _directions(request: TestRequest) -> tuple[str, ...]:
    if request.tool in BOTH_WAYS:
        return "sent", "received"
    sends = (request.peer_port is not None) != (request.tool is Tool.READ_BW)
    return ("sent",) if sends else ("received",)
