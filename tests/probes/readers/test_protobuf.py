"""Messages in wire format are read field by field, whatever else they hold."""

import pytest

from probes.readers.protobuf import decode, text_field
from tests.probes.kubelet_socket import message


def test_each_kind_of_field_is_read():
    found = decode(message((1, "a"), (1, "b"), (2, 300), (3, -1), (4, message((1, "inner")))))
    assert (found.texts(1), found.number(2), found.number(3)) == (("a", "b"), 300, -1)
    assert [one.text(1) for one in found.messages(4)] == ["inner"]


def test_absent_fields_are_empty():
    found = decode(b"")
    assert (found.text(1), found.texts(1), found.number(1), list(found.messages(1))) == ("", (), 0, [])


def test_of_a_field_that_stands_once_the_last_counts():
    found = decode(message((1, "a"), (1, "b"), (2, 1), (2, 2)))
    assert (found.text(1), found.number(2)) == ("b", 2)


def test_fields_of_any_kind_that_nobody_asks_for_are_passed_over():
    fixed64, fixed32 = bytes([9 << 3 | 1]) + bytes(8), bytes([10 << 3 | 5]) + bytes(4)
    found = decode(fixed64 + message((1, "a"), (400, "new"), (401, 1 << 40)) + fixed32 + message((2, "b")))
    assert (found.text(1), found.text(2)) == ("a", "b")


@pytest.mark.parametrize(
    "data",
    [
        message((1, "a" * 20))[:-1],
        bytes([1 << 3 | 1]) + bytes(7),
        bytes([1 << 3 | 5]) + bytes(3),
        bytes([1 << 3, 0x80]),
        bytes([1 << 3]) + b"\xff" * 11,
        bytes([1 << 3 | 3]),
        bytes([1 << 3 | 7]),
        bytes([1 << 3 | 2]) + b"\xff" * 9 + b"\x01",
    ],
)
def test_a_broken_message_is_refused(data):
    with pytest.raises(ValueError, match="found"):
        decode(data)


def test_text_that_is_no_utf_8_is_read_all_the_same():
    assert decode(message((1, b"a\xff"))).text(1) == "a\ufffd"


def test_a_long_text_is_written_as_it_is_read():
    text = "x" * 70_000 + "ü"
    assert (decode(text_field(20, text)).text(20), text_field(1, "")) == (text, b"")
