"""One row of the result table of nccl-tests or rccl-tests, read by the table's own header, in base units.

Versions 2.0 to 2.19 differ in their columns: ``redop`` and ``root`` may be missing, the last column was called
``error`` (a relative error) before 2.13 and ``#wrong`` (a count of elements) since, ``time`` is ``cputime`` with -C,
and -I adds ``i_min i_max i_p99 i_cv%``. An empty half is a placement that did not run.
Source: nccl-tests' common.cu and util.cu over its tags.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from types import MappingProxyType

UNITS: Mapping[str, Decimal] = MappingProxyType(
    {
        "(us)": Decimal("1e-6"),
        "(ms)": Decimal("1e-3"),
        "(s)": Decimal(1),
        "(GB/s)": Decimal(10**9),
        "(MB/s)": Decimal(10**6),
        "(%)": Decimal(1),
        "(B)": Decimal(1),
        "(elements)": Decimal(1),
    }
)
_TIMES = frozenset({"time", "cputime"})
_DEFAULT_UNITS = {"time": "(us)", "algbw": "(GB/s)", "busbw": "(GB/s)"}
_LEAD = ("size", "count", "type", "redop", "root")
_TYPE = re.compile(r"u?int(?:8|32|64)?|char|float|half|double|bfloat16|f8\w+|fp8\w*|bf16")
_EMPTY_HALF = re.compile(r"\s{24,}")
_CLOCK = re.compile(r"\s+\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\s*$")
_LARGEST_EXPONENT = 30
_BLANK_NUMBER = frozenset({"N/A", "n/a", "-"})


@dataclass(frozen=True, slots=True)
class Timing:
    """One placement of one size. Times are in seconds per iteration, bandwidths in bytes per second.

    ``wrong`` counts elements with another value than expected, None where the tool did not check (``N/A``) or is too
    old to count; ``error`` is the relative error that those old versions print. ``samples_seconds`` has the time of
    every iteration in order, where the JSON of -I has them; ``p99_seconds`` is what the tool printed of them.
    """

    seconds: Decimal
    algorithm_bytes_per_second: Decimal
    bus_bytes_per_second: Decimal
    wrong: int | None
    error: Decimal | None = None
    p99_seconds: Decimal | None = None
    samples_seconds: tuple[Decimal, ...] = ()


@dataclass(frozen=True, slots=True)
class Row:
    """One size. ``size_bytes`` is the size that was really run, as nccl-tests counts it; ``root`` -1 means none."""

    size_bytes: int
    count: int
    type: str
    redop: str
    root: int | None
    out_of_place: Timing | None
    in_place: Timing | None

    @property
    def timing(self) -> Timing | None:
        """The placement to judge by: out of place where it ran."""
        return self.out_of_place or self.in_place


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns before the first time, those of one placement, how many placements, and what a unit is worth."""

    lead: tuple[str, ...]
    half: tuple[str, ...]
    halves: int
    worth: Mapping[str, Decimal]


def read_columns(header: str, units: str = "") -> Columns | None:
    """The table's columns by its header line and the line of units below it; None for any other line.

    Raises ValueError "found, wanted" for a unit that is not known.
    """
    names = header.replace("#wrong", "wrong").lstrip("# \t").split()
    if names[:2] != ["size", "count"] or not _TIMES & set(names):
        return None
    times = [index for index, name in enumerate(names) if name in _TIMES]
    end = times[1] if len(times) > 1 else len(names)
    half = tuple("time" if name in _TIMES else name for name in names[times[0] : end] if name != "timestamp")
    return Columns(tuple(names[: times[0]]), half, len(times), _worth(half, units))


def columns_of_row(line: str) -> Columns | None:
    """The columns of a row whose header is lost, told by how many fields it has; None where that cannot tell."""
    fields = _CLOCK.sub("", line).split()
    if len(fields) not in (11, 12, 13) or not _TYPE.fullmatch(fields[2]):
        return None
    extra = {11: (), 12: ("root",) if fields[3].lstrip("-").isdigit() else ("redop",), 13: ("redop", "root")}
    half = ("time", "algbw", "busbw", "error" if "e" in fields[-1] and len(fields) < 13 else "wrong")
    return Columns((*_LEAD[:3], *extra[len(fields)]), half, 2, _worth(half, ""))


def is_row_begin(line: str, columns: Columns) -> bool:
    """Whether a line begins as a row does, whole or cut."""
    fields = line.split()[: len(columns.lead)]
    return len(fields) >= 2 and fields[0].isdecimal() and fields[1].isdecimal() and _typed(fields)


def is_lead(line: str, columns: Columns) -> bool:
    """Whether a line holds nothing but a row's first columns: the tool prints a row in several pieces."""
    return is_row_begin(line, columns) and len(line.split()) == len(columns.lead)


def read_row(line: str, columns: Columns) -> Row | None:
    """One row, or None for a line that is no whole row of this table."""
    if not is_row_begin(line, columns):
        return None
    bare = _CLOCK.sub("", line).rstrip()
    fields = bare.split()
    lead, rest = fields[: len(columns.lead)], fields[len(columns.lead) :]
    width = len(columns.half)
    if len(rest) not in (width, width * columns.halves) or len(lead) < len(columns.lead):
        return None
    parts = [_timing(rest[at : at + width], columns) for at in range(0, len(rest), width)]
    if None in parts:
        return None
    first, second = parts if len(parts) > 1 else _one_half(bare, lead, columns, parts[0])
    if first is None and second is None:
        return None
    named = dict(zip(columns.lead, lead, strict=True))
    return Row(
        size_bytes=int(named["size"]),
        count=int(named["count"]),
        type=named.get("type", ""),
        redop=named.get("redop", ""),
        root=int(named["root"]) if named.get("root", "").lstrip("-").isdecimal() else None,
        out_of_place=first,
        in_place=second,
    )


def read_number(text: str) -> Decimal | None:
    """A number as printf writes it, without the asterisk of rccl-tests; None for ``N/A``.

    Raises ValueError for anything else, for ``nan`` and for ``inf``.
    """
    if text in _BLANK_NUMBER:
        return None
    try:
        number = Decimal(text.rstrip("*"))
    except InvalidOperation:
        raise ValueError(f"{text!r} found, a number wanted") from None
    if not number.is_finite() or number.adjusted() > _LARGEST_EXPONENT:
        raise ValueError(f"{text!r} found, a number wanted")
    return number


def _worth(half: Sequence[str], units: str) -> dict[str, Decimal]:
    printed = iter(re.findall(r"\([^)]*\)", units)[2:])
    labels = {name: next(printed, _DEFAULT_UNITS.get(name, "")) for name in half if name not in ("wrong", "error")}
    if unknown := [label for label in labels.values() if label and label not in UNITS]:
        raise ValueError(f"unit {unknown[0]} found, one of {', '.join(UNITS)} wanted")
    return {name: UNITS[label] for name, label in labels.items() if label}


def _typed(fields: Sequence[str]) -> bool:
    return len(fields) < 3 or _TYPE.fullmatch(fields[2]) is not None


def _timing(cells: Sequence[str], columns: Columns) -> Timing | None:
    named = dict(zip(columns.half, cells, strict=True))
    try:
        numbers = {name: read_number(cell) for name, cell in named.items()}
    except ValueError:
        return None
    seconds, algorithm, bus = (numbers.get(name) for name in ("time", "algbw", "busbw"))
    if seconds is None or algorithm is None or bus is None:
        return None
    wrong, p99 = numbers.get("wrong"), numbers.get("i_p99")
    return Timing(
        seconds=seconds * columns.worth["time"],
        algorithm_bytes_per_second=algorithm * columns.worth["algbw"],
        bus_bytes_per_second=bus * columns.worth["busbw"],
        wrong=None if wrong is None else int(wrong),
        error=numbers.get("error"),
        p99_seconds=None if p99 is None else p99 * columns.worth.get("i_p99", UNITS["(us)"]),
    )


def _one_half(
    bare: str, lead: Sequence[str], columns: Columns, part: Timing | None
) -> tuple[Timing | None, Timing | None]:
    """Which placement a row with one half has: the first half is blank where the tool ran in place only."""
    after = re.match(r"\s*" + r"\s+".join(re.escape(field) for field in lead), bare)
    if columns.halves == 1 or after is None:
        return part, None
    return (None, part) if _EMPTY_HALF.match(bare, after.end()) else (None, None)
