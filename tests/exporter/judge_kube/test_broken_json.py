"""JSON that is cut or broken is read as far as it is complete, and never further."""

from typing import Any

import pytest

from exporter.judge.broken_json import read_pieces


@pytest.mark.parametrize(
    ("text", "value", "whole"),
    [
        ('{"a": 1, "b": [true, null]}', {"a": 1, "b": [True, None]}, True),
        ('{"a": 1, "b": 10', {"a": 1}, False),  # it may have been 1000
        ('{"a": 1, "b": "ten', {"a": 1}, False),
        ('{"a": {"b": "c"}, "d', {"a": {"b": "c"}}, False),
        ('{"a": "x", :, "b": 2}', {"a": "x", "b": 2}, False),
        ('[{"a": 1}, {"b": 2', [{"a": 1}, {}], False),
        ("{'a': 1, \"b\": 2}", {"b": 2}, False),
    ],
)
def test_only_what_is_complete_is_read(text: str, value: Any, whole: bool) -> None:
    (piece,) = [one for one in read_pieces(text) if one.value]
    assert (piece.value.get("b") if "'" in text else piece.value) == (2 if "'" in text else value)
    assert piece.whole is whole


def test_several_pieces_keep_the_text_before_each() -> None:
    found = read_pieces('$ jq .status.capacity\n{"a": 1}\n$ jq .status.allocatable\n{"a": 2}\n')
    assert [(one.before.strip(), one.value) for one in found] == [
        ("$ jq .status.capacity", {"a": 1}),
        ("$ jq .status.allocatable", {"a": 2}),
    ]


def test_depth_without_end_is_refused() -> None:
    assert [one.whole for one in read_pieces("[" * 100_000)] == [False]
