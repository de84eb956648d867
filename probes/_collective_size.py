"""How many bytes a collective of a given size really is, and what its speed means: the conventions of nccl-tests.

A message's size is that of the larger of a rank's two buffers. Where each rank has a share of it, a share is a whole
number of 16 bytes, so that the size that runs may be smaller than the one that was asked for.
"""

from probes._group import BurstRequest, Collective

ELEMENT_BYTES = 4
SHARE_ALIGNMENT_BYTES = 16
SHARED = frozenset({Collective.ALL_GATHER, Collective.REDUCE_SCATTER, Collective.ALLTOALL})


def run_bytes(collective: Collective, message_bytes: int, ranks: int) -> int:
    """Return the size in bytes that really runs (float32); 0 where the message is too small for so many ranks."""
    if collective not in SHARED:
        return message_bytes // ELEMENT_BYTES * ELEMENT_BYTES
    return share_bytes(message_bytes, ranks) * ranks


def share_bytes(message_bytes: int, ranks: int) -> int:
    """Return each rank's share in bytes."""
    elements = message_bytes // ELEMENT_BYTES // ranks
    return elements * ELEMENT_BYTES // SHARE_ALIGNMENT_BYTES * SHARE_ALIGNMENT_BYTES


def bus_factor(collective: Collective, ranks: int) -> float:
    """Return bus over algorithm bandwidth; 0 for one rank, which proves nothing."""
    if collective is Collective.SENDRECV:
        return 1.0
    share = (ranks - 1) / ranks
    return 2 * share if collective is Collective.ALL_REDUCE else share


def bytes_between_nodes(burst: BurstRequest) -> int:
    """Return the bytes that a node sends to others in the whole burst, and receives from them as well.

    A ring's: each of its links carries the bus factor times the message. All to all crosses with what is not for the
    node's own ranks. A burst within one node sends nothing. One more iteration than asked for looks at the data.
    """
    if burst.ranks_here >= burst.ranks:
        return 0
    runs = burst.iterations + burst.warmup_iterations + 1
    message_bytes = run_bytes(burst.collective, burst.message_bytes, burst.ranks)
    if burst.collective is Collective.ALLTOALL:
        return runs * burst.ranks_here * (burst.ranks - burst.ranks_here) * (message_bytes // burst.ranks)
    return round(runs * message_bytes * bus_factor(burst.collective, burst.ranks))
