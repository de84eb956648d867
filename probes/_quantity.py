"""A Kubernetes quantity becomes a number: ``1k`` is 1000, ``1Ki`` is 1024, ``500m`` is no whole one.

Source: apimachinery's resource.Quantity.
"""

import re
from decimal import Decimal

_QUANTITY = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+))([eE][+-]?\d{1,2}|[KMGTPE]i|[numkMGTPE])?")
_DIGITS_AT_MOST = 40
_SUFFIXES = {
    "n": Decimal(10) ** -9,
    "u": Decimal(10) ** -6,
    "m": Decimal(10) ** -3,
    **{letter: Decimal(1000) ** power for power, letter in enumerate("kMGTPE", 1)},
    **{f"{letter}i": Decimal(1024) ** power for power, letter in enumerate("KMGTPE", 1)},
}


def read_quantity(text: str) -> Decimal:
    """Return the number. Raises ValueError "found, wanted" for what is no quantity."""
    match = _QUANTITY.fullmatch(text.strip())
    if match is None or len(text) > _DIGITS_AT_MOST:
        raise ValueError(f"{text[:_DIGITS_AT_MOST]!r} found, a quantity wanted, as in 8 or 1k")
    number, suffix = Decimal(match[1]), match[2] or ""
    if suffix[:1] in {"e", "E"} and len(suffix) > 1 and suffix != "Ei":
        return number.scaleb(int(suffix[1:]))
    return number * _SUFFIXES.get(suffix, Decimal(1))


def read_whole(text: str) -> int:
    """Return a whole number of devices. Raises ValueError "found, wanted" for fractions and negative numbers too."""
    number = read_quantity(text)
    if number != number.to_integral_value() or number < 0:
        raise ValueError(f"{text!r} found, a whole number of devices wanted")
    return int(number)
