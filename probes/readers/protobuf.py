"""Messages in protobuf's wire format, field by field: what a few small messages need, without generated code.

A field that nobody asks for is passed over, so a newer sender is understood. Source: protobuf.dev, "Encoding".
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

_VARINT, _FIXED64, _LENGTH, _FIXED32 = 0, 1, 2, 5
_FIXED_BYTES = {_FIXED64: 8, _FIXED32: 4}
_LONGEST_VARINT = 10


@dataclass(frozen=True, slots=True)
class Message:
    """The fields of one message by number, each with all its values in order."""

    numbers: defaultdict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    parts: defaultdict[int, list[bytes]] = field(default_factory=lambda: defaultdict(list))

    def number(self, at: int) -> int:
        """An int64, 0 where it is absent; of several the last counts."""
        found = self.numbers.get(at, [0])[-1]
        return found - (1 << 64) if found >> 63 else found

    def text(self, at: int) -> str:
        """A string, empty where it is absent."""
        return self.parts.get(at, [b""])[-1].decode(errors="replace")

    def texts(self, at: int) -> tuple[str, ...]:
        """A repeated string."""
        return tuple(one.decode(errors="replace") for one in self.parts.get(at, ()))

    def messages(self, at: int) -> Iterator["Message"]:
        """A repeated message. ValueError where one is cut off or broken."""
        return (decode(one) for one in self.parts.get(at, ()))


def decode(data: bytes) -> Message:
    """Return the fields of a message. ValueError where it is cut off or broken."""
    message, at = Message(), 0
    while at < len(data):
        key, at = _varint(data, at)
        number, kind = key >> 3, key & 7
        if kind == _VARINT:
            value, at = _varint(data, at)
            message.numbers[number].append(value)
            continue
        if kind == _LENGTH:
            size, at = _varint(data, at)
        elif (size := _FIXED_BYTES.get(kind, -1)) < 0:
            raise ValueError(f"field {number} of wire type {kind} found, one of protobuf 3 wanted")
        if at + size > len(data):
            raise ValueError(f"{len(data) - at} bytes of field {number} found, {size} wanted")
        if kind == _LENGTH:
            message.parts[number].append(data[at : at + size])
        at += size
    return message


def text_field(number: int, text: str) -> bytes:
    """Write a string as one field; nothing where it is empty."""
    data = text.encode()
    return _written(number << 3 | _LENGTH) + _written(len(data)) + data if data else b""


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """The number that starts at a place, and the place behind it."""
    value = 0
    for place in range(_LONGEST_VARINT):
        if at + place >= len(data):
            raise ValueError("a number that is cut off found, its end wanted")
        byte = data[at + place]
        value |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            return value & (1 << 64) - 1, at + place + 1
    raise ValueError("a number of more than 10 bytes found, 64 bits wanted")


def _written(number: int) -> bytes:
    if number < 0x80:
        return bytes([number])
    return bytes([number & 0x7F | 0x80]) + _written(number >> 7)
