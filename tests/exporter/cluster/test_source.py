"""A watch comes in pieces that know nothing of lines."""

import pytest

from exporter.cluster.source import _lines

LINES = [b'{"a":1}', b'{"b":22}', b'{"c":333}']
TEXT = b"\n".join(LINES) + b"\n\n"


@pytest.mark.parametrize("size", [1, 2, 7, 8, 9, 10, 17, 18, 1000])
async def test_lines_are_whole_wherever_they_were_cut(size):
    async def pieces():
        for start in range(0, len(TEXT), size):
            yield TEXT[start : start + size]

    assert [line async for line in _lines(pieces())] == LINES


async def test_a_line_that_was_cut_off_for_good_is_none():
    async def pieces():
        yield TEXT[:12]

    assert [line async for line in _lines(pieces())] == LINES[:1]
