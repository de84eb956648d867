"""One row of perftest's result table, read by the table's own header, in base units.

The label "MB/sec" of versions before 24.07 and the later "MiB/sec" both mean 2^20 bytes per second; "Gb/sec" (with
--report_gbits) means 10^9 bit, which is 125,000,000 bytes per second. "MsgRate[Mpps]" counts messages, not packets.
Source: perftest's perftest_parameters.h and format_factor over its tags.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from types import MappingProxyType

BYTES_PER_UNIT: Mapping[str, Decimal] = MappingProxyType(
    {"MB/sec": Decimal(2**20), "MiB/sec": Decimal(2**20), "Gb/sec": Decimal(125_000_000)}
)
SECONDS_PER_MICROSECOND = Decimal("0.000001")
MESSAGES_PER_MEGA = Decimal(1_000_000)
ABSURD_BYTES_PER_SECOND = Decimal(10**13) / 8
ABSURD_SECONDS = Decimal(60)

_HEADER = re.compile(r"#\s?bytes\s+#\s?iterations\s(?P<rest>.*)$")
_COLUMN = re.compile(
    r"(?P<name>BW peak|BW average|MsgRate Port\d|BW Port\d|MsgRate|CPU_Util|t_\w+|[\d.]+% percentile)"
    r"\[(?P<unit>[^\]]*)\]"
    r"|(?P<bare>tps average|#sl)"
)
_NUMBER = re.compile(r"[-+]?(?:\d+(?:\.\d*)?|nan|inf)", re.IGNORECASE)
_FIGURE = re.compile(r"[-+]?\d[\d.,]*")
_FIGURES_OF_A_ROW = 3
_DECIMALS = {"MsgRate": 6, "CPU_Util": 2, "tps average": 2}


@dataclass(frozen=True, slots=True)
class Header:
    """The table's columns, with the unit printed for its values. ``kind`` is bandwidth or latency."""

    columns: tuple[str, ...]
    unit: str
    kind: str


@dataclass(frozen=True, slots=True)
class BandwidthRow:
    """One size of a bandwidth test. None means not measured: a peak of 0.00, a unit that is not known, -nan.

    ``problems`` says what makes the numbers unusable: unit_unknown, not_a_number, negative, absurd, inconsistent.
    """

    message_bytes: int
    iterations: int
    peak_bytes_per_second: Decimal | None
    average_bytes_per_second: Decimal | None
    message_rate_per_second: Decimal | None
    cpu_util_percent: Decimal | None = None
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LatencyRow:
    """One size of a latency test, in seconds; -D runs print only average and rate. None means not printed.

    Write and send tests report half a round trip, read and atomic tests a whole one.
    """

    message_bytes: int
    iterations: int
    average_seconds: Decimal | None
    minimum_seconds: Decimal | None = None
    maximum_seconds: Decimal | None = None
    typical_seconds: Decimal | None = None
    deviation_seconds: Decimal | None = None
    p99_seconds: Decimal | None = None
    p999_seconds: Decimal | None = None
    transactions_per_second: Decimal | None = None
    problems: tuple[str, ...] = ()


Row = BandwidthRow | LatencyRow


def read_header(line: str) -> Header | None:
    """The columns of a table header; None for any other line and for a header with a column that is not known."""
    match = _HEADER.search(line)
    if match is None or _COLUMN.sub("", match["rest"]).strip():
        return None
    found = list(_COLUMN.finditer(match["rest"]))
    names = ("#bytes", "#iterations", *(one["name"] or one["bare"] for one in found))
    units = [one["unit"] for one in found if one["name"] and one["name"].startswith(("BW", "t_"))]
    if not units or len(set(units)) != 1:
        return None
    return Header(names, units[0], "bandwidth" if "BW average" in names else "latency")


def is_header(line: str) -> bool:
    """Whether a line begins a table, even if the header itself is cut."""
    return re.search(r"#\s?bytes\s+#\s?iter", line) is not None


def read_cells(line: str, header: Header) -> dict[str, Decimal] | None:
    """The row's numbers by column; a prefix that is no number is passed over. None when this is no whole row."""
    words = line.split()
    count = len(header.columns)
    numbers = words[-count:]
    if len(words) < count or not all(_NUMBER.fullmatch(word) for word in numbers):
        return None
    if any(_NUMBER.fullmatch(word) for word in words[:-count]) or not (numbers[0] + numbers[1]).isdecimal():
        return None
    return dict(zip(header.columns, map(Decimal, numbers), strict=True))


def is_cut_row(line: str, header: Header) -> bool:
    """Whether a line has numbers only, yet not one for each column, or is a row in a form that is not understood."""
    words = line.split()
    numbers_only = all(_NUMBER.fullmatch(word) for word in words)
    if words and numbers_only and len(words) != len(header.columns):
        return True
    return not numbers_only and sum(1 for word in words if _FIGURE.fullmatch(word)) >= _FIGURES_OF_A_ROW


def last_number_is_whole(line: str, header: Header) -> bool:
    """Whether the last number has all the decimals that the tool prints; needed where the line has no end."""
    decimals = len(line.rsplit(".", 1)[-1].rstrip()) if "." in line.rsplit(maxsplit=1)[-1] else 0
    return decimals >= _DECIMALS.get(header.columns[-1], 6 if header.columns[-1].startswith("MsgRate") else 2)


def make_row(cells: Mapping[str, Decimal], header: Header, samples_unit: str = "") -> Row:
    """The row in base units, with what is wrong about its numbers. ``samples_unit`` heads the raw samples."""
    if header.kind == "bandwidth":
        return _bandwidth(cells, header.unit)
    return _latency(cells, header.unit, samples_unit)


def _bandwidth(cells: Mapping[str, Decimal], unit: str) -> BandwidthRow:
    factor = BYTES_PER_UNIT.get(unit)
    average = _scaled(cells["BW average"], factor)
    peak = _scaled(cells.get("BW peak", Decimal(0)), factor)
    rate = _scaled(cells.get("MsgRate", Decimal("nan")), MESSAGES_PER_MEGA)
    size = int(cells["#bytes"])
    return BandwidthRow(
        message_bytes=size,
        iterations=int(cells["#iterations"]),
        peak_bytes_per_second=peak or None,
        average_bytes_per_second=average,
        message_rate_per_second=rate,
        cpu_util_percent=_scaled(cells.get("CPU_Util", Decimal("nan")), Decimal(1)),
        problems=_bandwidth_problems(size, average, rate, factor),
    )


def _bandwidth_problems(
    size: int, average: Decimal | None, rate: Decimal | None, factor: Decimal | None
) -> tuple[str, ...]:
    if factor is None:
        return ("unit_unknown",)
    if average is None:
        return ("not_a_number",)
    if average < 0 or (rate or 0) < 0:
        return ("negative",)
    if average > ABSURD_BYTES_PER_SECOND:
        return ("absurd",)
    if rate is not None and not _agree(average, rate * size, slack=factor / 100 + size):
        return ("inconsistent",)
    return ()


def _agree(average: Decimal, from_rate: Decimal, slack: Decimal) -> bool:
    """The printed rate times the size is the printed average, but for what the few printed decimals leave open."""
    return abs(average - from_rate) <= Decimal("0.02") * max(average, from_rate) + slack


def _latency(cells: Mapping[str, Decimal], unit: str, samples_unit: str) -> LatencyRow:
    # -C prints processor cycles below the label "usec", and then -nan as the deviation, whose sum overflows. So it does
    # for a few very slow iterations in microseconds: only the head of the raw samples tells the two apart.
    overflowed = cells.get("t_stdev", Decimal(0)).is_nan()
    known = unit == "usec" and (samples_unit == "usec" or not (overflowed or samples_unit))
    factor = SECONDS_PER_MICROSECOND if known else None
    names = {
        "average_seconds": "t_avg",
        "minimum_seconds": "t_min",
        "maximum_seconds": "t_max",
        "typical_seconds": "t_typical",
        "deviation_seconds": "t_stdev",
        "p99_seconds": "99% percentile",
        "p999_seconds": "99.9% percentile",
    }
    seconds = {field: _scaled(cells.get(name, Decimal("nan")), factor) for field, name in names.items()}
    return LatencyRow(
        message_bytes=int(cells["#bytes"]),
        iterations=int(cells["#iterations"]),
        transactions_per_second=_scaled(cells.get("tps average", Decimal("nan")), Decimal(1)),
        problems=_latency_problems(seconds) if known else ("unit_unknown",),
        **seconds,
    )


def _latency_problems(seconds: Mapping[str, Decimal | None]) -> tuple[str, ...]:
    values = [value for value in seconds.values() if value is not None]
    middles = [seconds["typical_seconds"], seconds["average_seconds"]]
    if all(middle is None for middle in middles):
        return ("not_a_number",)
    if min(values) < 0:
        return ("negative",)
    if max(values) > ABSURD_SECONDS:
        return ("absurd",)
    least, most = seconds["minimum_seconds"], seconds["maximum_seconds"]
    if any(m is not None and ((least or m) > m or m > (most or m)) for m in middles):
        return ("inconsistent",)
    return ()


def _scaled(value: Decimal, factor: Decimal | None) -> Decimal | None:
    return value * factor if factor is not None and value.is_finite() else None
