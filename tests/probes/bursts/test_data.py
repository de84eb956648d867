"""What a rank expects to find is what the collective makes of what all ranks send, element by element."""

import array

import pytest

from probes._group import Collective
from probes.rank import data
from probes.rank.data import CHUNK_BYTES, Layout, Segment, wrong_elements

RANKS = 5


def floats(*segments: Segment) -> list[float]:
    whole = b"".join(chunk for segment in segments for _, chunk in segment.chunks())
    return array.array("f", whole).tolist()


def sent(collective: Collective, size: int) -> list[list[float]]:
    return [floats(Layout(collective, rank, RANKS, size).sent) for rank in range(RANKS)]


def received(collective: Collective, rank: int, buffers: list[list[float]], share: int) -> list[float]:
    """NCCL's own definition of each collective."""
    sums = [sum(values) for values in zip(*buffers, strict=True)]
    own = slice(rank * share, (rank + 1) * share)
    return {
        Collective.ALL_REDUCE: lambda: sums,
        Collective.REDUCE_SCATTER: lambda: sums[own],
        Collective.ALL_GATHER: lambda: [value for buffer in buffers for value in buffer],
        Collective.ALLTOALL: lambda: [value for buffer in buffers for value in buffer[own]],
        Collective.SENDRECV: lambda: buffers[rank - 1],
    }[collective]()


@pytest.mark.parametrize("collective", Collective)
@pytest.mark.parametrize("size", [80, 4000, 10_008])
def test_the_expected_data_is_what_the_collective_makes_of_what_is_sent(collective: Collective, size: int):
    buffers = sent(collective, size)
    for rank in range(RANKS):
        layout = Layout(collective, rank, RANKS, size)
        assert floats(*layout.expected) == received(collective, rank, buffers, layout.share)


def test_no_two_ranks_send_the_same():
    buffers = sent(Collective.ALL_REDUCE, 4000)
    assert len({tuple(buffer) for buffer in buffers}) == RANKS


def test_a_segment_longer_than_a_chunk_goes_on_where_it_left_off(monkeypatch: pytest.MonkeyPatch):
    whole = floats(Segment(4 * 251, (1, 2), start=3))
    monkeypatch.setattr(data, "CHUNK_BYTES", 2 * 251 * 4)
    segment = Segment(4 * 251, (1, 2), start=3)
    assert [offset for offset, _ in segment.chunks()] == [0, 2 * 251 * 4]
    assert floats(segment) == whole


def test_the_sum_over_thousands_of_ranks_is_exact_in_float32():
    many = tuple(range(8192))
    assert floats(Segment(251, many)) == [float(sum(data.value(rank, i) for rank in many)) for i in range(251)]


def test_wrong_elements_are_counted_and_a_buffer_of_nan_is_all_wrong():
    wanted = next(iter(Segment(1000, (0,)).chunks()))[1]
    spoilt = array.array("f", wanted)
    assert wrong_elements(spoilt.tobytes(), wanted) == 0
    spoilt[0] += 1
    spoilt[999] += 1
    assert wrong_elements(spoilt.tobytes(), wanted) == 2
    assert wrong_elements(b"\xff" * len(wanted), wanted) == 1000
    assert CHUNK_BYTES % (251 * 4) == 0
