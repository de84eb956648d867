"""Data that shows who sent it: each element tells of its rank and its place, and sums of them are exact in float32.

The values repeat after PERIOD elements, so that a gigabyte is filled and compared with memcpy and memcmp.
"""

import array
from collections.abc import Iterator
from dataclasses import dataclass

from probes._collective_size import ELEMENT_BYTES, SHARED, share_bytes
from probes._group import Collective

PERIOD = 251
CHUNK_BYTES = PERIOD * ELEMENT_BYTES * 16384
MANY_WRONG = 1 << 20


@dataclass(frozen=True, slots=True)
class Segment:
    """Elements in a row: the i-th is the sum over ``ranks`` of what each of them has at ``start + i``."""

    elements: int
    ranks: tuple[int, ...]
    start: int = 0

    @property
    def length_bytes(self) -> int:
        """Its length."""
        return self.elements * ELEMENT_BYTES

    def chunks(self) -> Iterator[tuple[int, bytes]]:
        """Its bytes, as offset and content of one piece after the other."""
        tile = self._tile()
        whole = tile * -(-min(self.length_bytes, CHUNK_BYTES) // len(tile))
        for offset in range(0, self.length_bytes, CHUNK_BYTES):
            yield offset, whole[: min(CHUNK_BYTES, self.length_bytes - offset)]

    def _tile(self) -> bytes:
        places = range(self.start, self.start + PERIOD)
        return array.array("f", (float(sum(value(rank, place) for rank in self.ranks)) for place in places)).tobytes()


def value(rank: int, place: int) -> int:
    """What a rank has at a place of its send buffer."""
    return (rank * 7 + place) % PERIOD


@dataclass(frozen=True, slots=True)
class Layout:
    """One rank's buffers in a collective: what it sends, and what it has to find when all is done.

    ``share`` is the number of elements for (or from) each rank, 0 where the message is too small.
    """

    collective: Collective
    rank: int
    ranks: int
    message_bytes: int

    @property
    def share(self) -> int:
        """Elements of the part that belongs to one rank; all of the message where it is not shared out."""
        if self.collective in SHARED:
            return share_bytes(self.message_bytes, self.ranks) // ELEMENT_BYTES
        return self.message_bytes // ELEMENT_BYTES

    @property
    def sent(self) -> Segment:
        """The send buffer."""
        parts = self.ranks if self.collective in (Collective.REDUCE_SCATTER, Collective.ALLTOALL) else 1
        return Segment(self.share * parts, (self.rank,))

    @property
    def expected(self) -> tuple[Segment, ...]:
        """The receive buffer, as it has to be."""
        everybody = tuple(range(self.ranks))
        own = self.rank * self.share
        match self.collective:
            case Collective.ALL_REDUCE:
                return (Segment(self.share, everybody),)
            case Collective.REDUCE_SCATTER:
                return (Segment(self.share, everybody, own),)
            case Collective.ALL_GATHER:
                return tuple(Segment(self.share, (rank,)) for rank in everybody)
            case Collective.ALLTOALL:
                return tuple(Segment(self.share, (rank,), own) for rank in everybody)
            case Collective.SENDRECV:
                return (Segment(self.share, ((self.rank - 1) % self.ranks,)),)


def wrong_elements(found: bytes, wanted: bytes) -> int:
    """Count the float32 elements that differ in two pieces of the same length."""
    if found == wanted:
        return 0
    block_bytes = PERIOD * ELEMENT_BYTES
    starts = range(0, len(wanted), block_bytes)
    return sum(_wrong_in_block(found[at : at + block_bytes], wanted[at : at + block_bytes]) for at in starts)


def _wrong_in_block(found: bytes, wanted: bytes) -> int:
    if found == wanted:
        return 0
    # A NaN, which the buffer is filled with before, differs from everything.
    pairs = zip(memoryview(found).cast("f"), memoryview(wanted).cast("f"), strict=True)
    return sum(one != other for one, other in pairs)
