"""A quantity is a number with its unit, exact: ``8MiB``, ``360Gbit/s``, ``3.5us``. A bare number is an error.

k, M, G, T are powers of 1000 and Ki, Mi, Gi, Ti powers of 1024; ``b`` and ``bit`` are bits, ``B`` is bytes.
"""

import re
from collections.abc import Mapping
from decimal import Decimal
from types import MappingProxyType

_PREFIXES: Mapping[str, int] = MappingProxyType(
    {"": 1}
    | {letter: 1000**power for power, letter in enumerate("kMGTP", start=1)}
    | {f"{letter}i": 1024**power for power, letter in enumerate("KMGTP", start=1)}
)
_SECONDS: Mapping[str, Decimal] = MappingProxyType(
    {
        "ns": Decimal("1e-9"),
        "us": Decimal("1e-6"),
        "µs": Decimal("1e-6"),
        "μs": Decimal("1e-6"),
        "usec": Decimal("1e-6"),
        "ms": Decimal("1e-3"),
        "s": Decimal(1),
        "min": Decimal(60),
        "m": Decimal(60),
        "h": Decimal(3600),
        "d": Decimal(86400),
    }
)
_QUANTITY = re.compile(r"\s*(?P<number>[-+]?\d+(?:\.\d+)?)\s*(?P<unit>\S*)\s*")
_RATE_UNIT = re.compile(r"(?P<prefix>(?:[KMGTP]i|[kMGTP])?)(?P<what>bits?/s|b/s|bps|B/s|Bytes/s)")
_BYTE_UNIT = re.compile(r"(?P<prefix>(?:[KMGTP]i|[kMGTP])?)B")
_MESSAGES_UNIT = re.compile(r"(?P<prefix>[kMG]?)(?:/s|pps|msg/s)")
_BITS_PER_BYTE = Decimal(8)


def parse_bytes(text: str) -> int:
    """``8MiB`` or ``64kB`` as bytes. Raises ValueError with a sentence for anything else, a bare number too."""
    number, unit = _split(text, "MiB")
    match = _BYTE_UNIT.fullmatch(unit)
    if match is None:
        raise ValueError(f"{text!r}: unit {unit!r} found, one of B, kB, MB, GB, KiB, MiB, GiB wanted")
    size = number * _PREFIXES[match["prefix"]]
    if size != size.to_integral_value():
        raise ValueError(f"{text!r}: {size} bytes found, a whole number of bytes wanted")
    return int(size)


def parse_rate(text: str) -> Decimal:
    """``360Gbit/s``, ``100Gb/s`` or ``45GB/s`` as bytes per second. Raises ValueError with a sentence otherwise."""
    number, unit = _split(text, "Gbit/s")
    match = _RATE_UNIT.fullmatch(unit)
    if match is None:
        raise ValueError(f"{text!r}: unit {unit!r} found, one as Gbit/s, GB/s or MiB/s wanted")
    per_second = number * _PREFIXES[match["prefix"]]
    return per_second if match["what"].startswith("B") else per_second / _BITS_PER_BYTE


def parse_seconds(text: str) -> Decimal:
    """``3.5us``, ``30m`` or ``6h`` as seconds. Raises ValueError with a sentence for anything else."""
    number, unit = _split(text, "us")
    if unit not in _SECONDS:
        raise ValueError(f"{text!r}: unit {unit!r} found, one of ns, us, ms, s, m, h, d wanted")
    return number * _SECONDS[unit]


def parse_message_rate(text: str) -> Decimal:
    """``7Mpps`` or ``200k/s`` as messages per second. Raises ValueError with a sentence for anything else."""
    number, unit = _split(text, "Mpps")
    match = _MESSAGES_UNIT.fullmatch(unit)
    if match is None:
        raise ValueError(f"{text!r}: unit {unit!r} found, one as Mpps or /s wanted")
    return number * _PREFIXES[match["prefix"]]


def _split(text: str, example: str) -> tuple[Decimal, str]:
    match = _QUANTITY.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r}: a number with a unit such as {example} wanted")
    if not match["unit"]:
        raise ValueError(f"{text!r}: a bare number found, a unit such as {example} wanted")
    number = Decimal(match["number"])
    if number < 0:
        raise ValueError(f"{text!r}: a negative quantity found, zero or more wanted")
    return number, match["unit"]
