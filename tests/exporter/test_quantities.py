from decimal import Decimal

import pytest

from exporter.quantities import parse_bytes, parse_message_rate, parse_rate, parse_seconds


@pytest.mark.parametrize(
    ("text", "size"), [("8MiB", 2**23), ("64kB", 64000), ("1.5 KiB", 1536), ("2B", 2), ("10GiB", 10 * 2**30)]
)
def test_bytes_are_exact(text: str, size: int) -> None:
    assert parse_bytes(text) == size


@pytest.mark.parametrize(
    ("text", "bytes_per_second"),
    [
        ("360Gbit/s", 45_000_000_000),
        ("100Gb/s", 12_500_000_000),
        ("100Gbps", 12_500_000_000),
        ("45GB/s", 45_000_000_000),
        ("1MiB/s", 2**20),
        ("7000Mbit/s", 875_000_000),
        ("1kbit/s", 125),
    ],
)
def test_rates_are_bytes_per_second(text: str, bytes_per_second: int) -> None:
    assert parse_rate(text) == bytes_per_second


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("3.5us", "0.0000035"), ("6h", "21600"), ("30m", "1800"), ("24 h", "86400"), ("5ms", "0.005"), ("10s", "10")],
)
def test_times_are_exact_seconds(text: str, seconds: str) -> None:
    assert parse_seconds(text) == Decimal(seconds)


def test_message_rates_are_per_second() -> None:
    assert parse_message_rate("7Mpps") == 7_000_000


@pytest.mark.parametrize("parse", [parse_bytes, parse_rate, parse_seconds, parse_message_rate])
@pytest.mark.parametrize(("text", "sentence"), [("360", "a bare number found"), ("fast", "a number with a unit")])
def test_a_bare_number_or_no_number_is_refused_with_a_sentence(parse, text: str, sentence: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match=sentence):
        parse(text)


@pytest.mark.parametrize(
    ("parse", "text", "sentence"),
    [
        (parse_bytes, "8Mb", "MiB"),
        (parse_bytes, "1.0001kB", "a whole number of bytes wanted"),
        (parse_rate, "45GB", "Gbit/s"),
        (parse_rate, "-1Gbit/s", "negative"),
        (parse_seconds, "5 parsecs", "us"),
        (parse_seconds, "nanus", "a number with a unit"),
    ],
)
def test_another_unit_is_refused_with_the_allowed_ones(parse, text: str, sentence: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError, match=sentence):
        parse(text)
