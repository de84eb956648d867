"""A burst request stays within bounds that no plan can lift, and its numbers agree with each other."""

from collections.abc import Collection, Iterator

from exporter.assignment import Assignment
from exporter.leader import Refusal
from exporter.unique_id import address_in
from probes._burst_environment import requested_problems
from probes._group import BurstRequest, BurstWay

MESSAGE_BYTES = range(1, 2**35 + 1)
ITERATIONS = range(1, 10**5 + 1)
WARMUP_ITERATIONS = range(10**4 + 1)
RANKS = range(1, 8193)
RANKS_HERE = range(1, 65)
CPUS_PER_RANK = range(1025)
LIMIT_SECONDS = (1.0, 600.0)


def burst_refusals(assignment: Assignment, burst: BurstRequest, addresses: Collection[str]) -> Iterator[Refusal]:
    """Why this node has no part in such a burst. ``addresses`` are those of the members that it names."""
    planned = {member.name for member in assignment.members}
    for name in burst.members:
        if name not in planned:
            yield "peer_unplanned", f"{assignment.node}: {name!r} is no member, a planned one wanted"
    if assignment.node not in burst.members:
        yield "out_of_bounds", f"members: {assignment.node} not among them, the node that is asked wanted"
    for problem in burst_out_of_bounds(burst):
        yield "out_of_bounds", problem
    if burst.unique_id:
        yield from _id_refusals(assignment.node, burst.unique_id, addresses)


def burst_out_of_bounds(burst: BurstRequest) -> Iterator[str]:
    """Everything that is out of bounds, or contradicts itself, as "subject: found, wanted"."""
    ranges = (
        ("message_bytes", burst.message_bytes, MESSAGE_BYTES),
        ("iterations", burst.iterations, ITERATIONS),
        ("warmup_iterations", burst.warmup_iterations, WARMUP_ITERATIONS),
        ("ranks", burst.ranks, RANKS),
        ("ranks_here", burst.ranks_here, RANKS_HERE),
        ("cpus_per_rank", burst.cpus_per_rank, CPUS_PER_RANK),
    )
    for name, found, wanted in ranges:
        if found not in wanted:
            yield f"{name}: {found} found, {wanted.start} to {wanted.stop - 1} wanted"
            return
    low, high = LIMIT_SECONDS
    if not low <= burst.limit_seconds <= high:
        yield f"limit_seconds: {burst.limit_seconds:g} found, {low:g} to {high:g} wanted"
    yield from requested_problems(burst.environment)
    yield from _contradictions(burst)


def _contradictions(burst: BurstRequest) -> Iterator[str]:
    nodes = len(burst.members)
    if len(set(burst.members)) != nodes:
        yield "members: a name found twice, each once wanted"
    if nodes * burst.ranks_here != burst.ranks:
        yield f"ranks: {burst.ranks} found, {nodes * burst.ranks_here} wanted ({burst.ranks_here} on each of {nodes})"
    if burst.first_rank not in range(0, burst.ranks, burst.ranks_here):
        yield f"first_rank: {burst.first_rank} found, a multiple of {burst.ranks_here} under {burst.ranks} wanted"
    if burst.way is BurstWay.NCCL_TESTS and nodes != 1:
        yield f"way: {burst.way} on {nodes} nodes found, {BurstWay.NCCL4PY} wanted between nodes"
    if burst.first_rank and not burst.unique_id:
        yield "unique_id: none found, that of rank 0 wanted"
    if burst.unique_id and not burst.first_rank:
        yield "unique_id: one found for the node of rank 0, none wanted: it makes it"


def _id_refusals(node: str, unique_id: str, addresses: Collection[str]) -> Iterator[Refusal]:
    try:
        found = address_in(unique_id)
    except ValueError as error:
        yield "out_of_bounds", f"unique_id: {error}"
        return
    if found not in addresses:
        known = ", ".join(sorted(addresses)) or "none known"
        hint = "NCCL_SOCKET_IFNAME chooses the interface"
        yield "foreign_unique_id", f"{node}: unique id with address {found} found, a member's wanted ({known}); {hint}"
