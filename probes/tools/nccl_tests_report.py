"""What one run of nccl-tests said, without an opinion."""

from collections import Counter
from dataclasses import dataclass, replace
from decimal import Decimal

from probes.tools.nccl_tests_rows import Row, Timing

_SHARP_BYTES_PER_SECOND = 10**9
_ROUNDED_BYTES_PER_SECOND = Decimal(5_000_000)
_WHOLE = frozenset({"all_reduce"})
_SHARED = frozenset({"all_gather", "reduce_scatter", "alltoall", "gather", "scatter"})
_ELEMENT_BYTES = {
    **dict.fromkeys(("int8", "uint8", "char", "f8e4m3", "f8e5m2", "fp8_e4m3", "fp8_e5m2"), 1),
    **dict.fromkeys(("half", "bfloat16"), 2),
    **dict.fromkeys(("float", "int", "int32", "uint32"), 4),
    **dict.fromkeys(("double", "int64", "uint64"), 8),
}


@dataclass(frozen=True, slots=True)
class Device:
    """One rank's GPU as the tool lists it. ``group`` tells the communicators of NCCL_TESTS_SPLIT apart.

    ``pci_address`` is as printed: the tool writes ``0000:1b:00``, older versions ``0x1b``.
    """

    rank: int
    group: int
    pid: int
    host: str
    index: int
    pci_address: str
    name: str


@dataclass(frozen=True, slots=True)
class CollectiveReport:
    """One run. Empty text and None stand for what was not printed.

    ``collective`` is the operation in the words of nccl-tests (all_reduce, alltoall, ...). ``ranks`` is the size of
    the communicator that the tool named. Bandwidths are in bytes per second; the average is over all sizes and both
    placements, which no target should be held against. ``out_of_bounds`` counts the sizes with wrong elements.
    ``minimum_met`` is the tool's verdict on NCCL_TESTS_MIN_BW. ``asked_bytes`` is the largest size asked for and
    ``reduced_to_bytes`` what the tool made of it for want of memory. ``ended`` says that the table was followed by its
    summary, ``truncated`` that the text is cut or left something out, ``cut_rows`` how many rows are not whole.
    ``problems`` are codes: several_reports, no_report, not_a_number, unit_unknown, json_cut, ranks_left_out,
    ranks_repeated (several processes called themselves by one rank), header_lost. ``errors`` are the lines in which
    the tool complains, as printed.
    """

    collective: str = ""
    ranks: int | None = None
    devices: tuple[Device, ...] = ()
    rows: tuple[Row, ...] = ()
    average_bus_bytes_per_second: Decimal | None = None
    out_of_bounds: int | None = None
    minimum_met: bool | None = None
    asked_bytes: int | None = None
    reduced_to_bytes: int | None = None
    iterations: int | None = None
    warmup_iterations: int | None = None
    validation: bool | None = None
    tests_version: str = ""
    nccl_version: str = ""
    ended: bool = False
    truncated: bool = False
    cut_rows: int = 0
    problems: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()

    @property
    def nodes(self) -> tuple[str, ...]:
        """The hosts of the ranks, in order of rank."""
        return tuple(dict.fromkeys(device.host for device in self.devices))

    @property
    def groups(self) -> int:
        """How many communicators ran side by side."""
        return len({device.group for device in self.devices})

    @property
    def data_checked(self) -> bool | None:
        """Whether any row's data was checked; None without rows. ``N/A`` is not zero."""
        if not self.rows:
            return None
        placements = [one for row in self.rows for one in (row.out_of_place, row.in_place) if one]
        return any(one.wrong is not None or one.error is not None for one in placements)

    @property
    def wrong(self) -> int | None:
        """Elements with a wrong value, over all rows that counted; None where none did."""
        counts = [one.wrong for row in self.rows for one in (row.out_of_place, row.in_place) if one]
        counted = [count for count in counts if count is not None]
        return sum(counted) if counted else None

    @property
    def ranks_implied(self) -> int | None:
        """Ranks that the numbers imply, by size over count or by bus over algorithm bandwidth; None if they cannot."""
        votes = Counter(n for row in self.rows if (n := _ranks_of(row, self.collective)) is not None)
        return votes.most_common(1)[0][0] if votes else None

    def with_problem(self, code: str) -> "CollectiveReport":
        """The same report with one more problem."""
        return replace(self, problems=(*self.problems, code))


def _ranks_of(row: Row, collective: str) -> int | None:
    """Where a rank has only its share of the size, size over count tells; else the ratio of the bandwidths."""
    width = row.count * _ELEMENT_BYTES.get(row.type, 0)
    if width and collective in ("", *_SHARED) and row.size_bytes % width == 0 and row.size_bytes > width:
        return row.size_bytes // width
    whole = collective in _WHOLE or (collective == "" and row.redop not in ("", "none") and row.root in (-1, None))
    return _ranks_by_ratio(row.timing) if whole else None


def _ranks_by_ratio(timing: Timing | None) -> int | None:
    """Ranks n of an all_reduce, whose bandwidths are as 2(n-1)/n, only where the two printed decimals tell n."""
    if timing is None or timing.algorithm_bytes_per_second < _SHARP_BYTES_PER_SECOND:
        return None
    algorithm, bus = timing.algorithm_bytes_per_second, timing.bus_bytes_per_second
    if bus == 0:
        return 1
    share = bus / algorithm / 2
    if not 0 < share < 1:
        return None
    ranks = max(round(1 / (1 - share)), 2)
    error = share * (_ROUNDED_BYTES_PER_SECOND / algorithm + _ROUNDED_BYTES_PER_SECOND / bus)
    sharp = 2 * error * ranks * (ranks + 1) < 1 and abs(share - Decimal(ranks - 1) / ranks) <= error
    return ranks if sharp else None
