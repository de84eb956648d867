"""The text that rank 0 of nccl-tests prints: parameters, ranks, the table, the summary, and complaints."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from probes.tools.nccl_tests_json import GIGABYTE, nccl_version
from probes.tools.nccl_tests_report import CollectiveReport, Device
from probes.tools.nccl_tests_rows import (
    Columns,
    Row,
    columns_of_row,
    is_lead,
    is_row_begin,
    read_columns,
    read_row,
)

_PARAMETERS = re.compile(
    r"\bnThreads?:? (?P<threads>\d+) nGpus:? (?P<gpus>\d+) minBytes:? \d+ maxBytes:? (?P<asked>\d+)\b"
)
_RANK = re.compile(
    r"Rank\s+(?P<rank>\d+)\s+(?:Group\s+(?P<group>\d+)\s+)?(?:Pid\s+(?P<pid>\d+)\s+)?on\s+(?P<host>\S+)\s+"
    r"device\s+(?P<index>\d+)\s+\[(?P<pci>[0-9a-fA-Fx:.]+)\]\s*(?P<name>.*)"
)
_VERSION = re.compile(r"\b(?:nccl|rccl)-tests version (\S+)(?:.*nccl-library=(\d+))?")
_PROGRAM = re.compile(r"Collective test (?:starting|concluded): (?:\S*/)?([a-z_]+)_perf\b")
_COMMAND = re.compile(r"(?:^|[\s/])([a-z][a-z_]*)_perf\b(?!:)")
_STARTED = re.compile(r"^\W*(?:\S*/)?[a-z][a-z_]*_perf\s+-")
_BOUNDS = re.compile(r"Out of bounds values\s*:\s*(\d+)\s*(OK|FAILED)?")
_AVERAGE = re.compile(r"Avg bus bandwidth\s*:\s*(\d+(?:\.\d*)?(?:e[-+]?\d{1,2})?)\s*(OK|FAILED)?")
_REDUCED = re.compile(r"Reducing maxBytes to (\d+)")
_SETTINGS = {
    "iterations": re.compile(r"(?<!warmup )(?<!agg )\biters: (\d+)"),
    "warmup_iterations": re.compile(r"\bwarmup iters: (\d+)"),
    "validation": re.compile(r"\bvalidation: (\d+)"),
}
_NCCL_LINE = re.compile(
    r"(?:\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\] )?[A-Za-z][\w.-]{0,253}:\d+:\d+ \[\w+\] .*?NCCL (?:INFO|WARN|TRACE)\b"
)
_COMPLAINT = re.compile(
    r"Test (?:NCCL|CUDA) failure|Test failure|Test timeout|# error: |Invalid number of GPUs|invalid option"
    r"|unrecognized option|NCCL WARN|\bABORT|Segmentation fault|core dumped|exited on signal"
)
_NO_NUMBER = re.compile(r"[-+]?(?:nan|inf)\b", re.IGNORECASE)


def split_reports(lines: Sequence[str]) -> list[list[str]]:
    """Cut the lines where another run begins: its parameters, its version line, or a second table's header."""
    pieces: list[list[str]] = [[]]
    seen: set[str] = set()
    for line in lines:
        mark = _mark(line)
        if mark and (mark in seen or "end" in seen):
            pieces.append([])
            seen = set()
        seen |= {mark} if mark else set()
        pieces[-1].append(line)
        if _AVERAGE.search(line):
            seen.add("end")
    return [piece for piece in pieces if _says_something(piece)]


def read_text_report(lines: Sequence[str], *, whole: bool, elided: bool) -> CollectiveReport:
    """Read one run's lines; ``whole`` says that the last line has its end, ``elided`` that text was left out."""
    table = _Table()
    for line in _own_lines(lines):
        table.take(line)
    rows, cut_rows = table.finish(last_is_whole=whole)
    text = "\n".join(lines)
    devices = tuple(_device(match) for match in _RANK.finditer(text))
    bounds, average, reduced = _BOUNDS.search(text), _AVERAGE.search(text), _REDUCED.search(text)
    version, parameters = _VERSION.search(text), _PARAMETERS.search(text)
    ended = bounds is not None
    settings = {name: int(match[1]) for name, pattern in _SETTINGS.items() if (match := pattern.search(text))}
    ranks, problems = _ranks(devices, parameters)
    return CollectiveReport(
        collective=_collective(lines),
        ranks=ranks,
        devices=devices,
        rows=tuple(rows),
        average_bus_bytes_per_second=Decimal(average[1]) * GIGABYTE if average else None,
        out_of_bounds=int(bounds[1]) if bounds else None,
        minimum_met={"OK": True, "FAILED": False}.get(average[2] or "") if average else None,
        asked_bytes=int(parameters["asked"]) if parameters else None,
        reduced_to_bytes=int(reduced[1]) if reduced else None,
        iterations=settings.get("iterations"),
        warmup_iterations=settings.get("warmup_iterations"),
        validation=settings["validation"] > 0 if "validation" in settings else None,
        tests_version=version[1] if version else "",
        nccl_version=nccl_version(int(version[2])) if version and version[2] else "",
        ended=ended,
        truncated=elided or cut_rows > 0 or not ended,
        cut_rows=cut_rows,
        problems=(*problems, *table.problems),
        errors=tuple(line.strip() for line in lines if _COMPLAINT.search(line)),
    )


@dataclass
class _Table:
    """Rows as they come, with a row that the tool printed in pieces put together again."""

    columns: Columns | None = None
    header: str = ""
    lead: str = ""
    rows: list[Row] = field(default_factory=list)
    cut: list[str] = field(default_factory=list)
    row_is_last: bool = False
    problems: list[str] = field(default_factory=list)

    def take(self, line: str) -> None:
        """Read one line of the tool."""
        if self._is_header(line) or not line.strip():
            return
        self.row_is_last = False
        columns = self.columns or self._by_shape(line)
        if columns is None:
            return
        if is_lead(line, columns):
            self.lead = line.rstrip()
        elif (row := read_row(line, columns) or read_row(f"{self.lead} {line}", columns)) is not None:
            self.rows.append(row)
            self.lead, self.row_is_last = "", True
        elif is_row_begin(line, columns):
            self._give_up(line)

    def finish(self, *, last_is_whole: bool) -> tuple[list[Row], int]:
        """The rows, and how many more were not whole. A row that ends the text without a line's end may be cut."""
        doubtful = self.row_is_last and not last_is_whole
        return self.rows[: -1 if doubtful else None], len(self.cut) + doubtful + bool(self.lead)

    def _is_header(self, line: str) -> bool:
        try:
            if "(B)" in line and self.header:
                self.columns = read_columns(self.header, line) or self.columns
                return True
            columns = read_columns(line)
        except ValueError:
            self._problem("unit_unknown")
            self.columns, self.header = None, ""
            return True
        if columns is None:
            return False
        self.columns, self.header = columns, line
        return True

    def _by_shape(self, line: str) -> Columns | None:
        if "unit_unknown" in self.problems:
            return None
        self.columns = columns_of_row(line)
        if self.columns:
            self._problem("header_lost")
        return self.columns

    def _give_up(self, line: str) -> None:
        if _NO_NUMBER.search(line):
            self._problem("not_a_number")
        self.cut.append(line)

    def _problem(self, code: str) -> None:
        if code not in self.problems:
            self.problems.append(code)


def _own_lines(lines: Iterable[str]) -> Iterable[str]:
    """The lines without NCCL's own, which may begin in the middle of a row."""
    for line in lines:
        match = _NCCL_LINE.search(line) if " NCCL " in line else None
        yield line[: match.start()] if match else line


def _mark(line: str) -> str:
    if _STARTED.match(line):
        return "command"
    if _VERSION.search(line):
        return "version"
    if "Collective test starting" in line:
        return "program"
    if _PARAMETERS.search(line):
        return "parameters"
    try:
        return "header" if read_columns(line) else ""
    except ValueError:
        return ""


def _says_something(piece: Sequence[str]) -> bool:
    return any(
        _mark(line) or _RANK.search(line) or _BOUNDS.search(line) or columns_of_row(line) or _COMPLAINT.search(line)
        for line in piece
    )


def _device(match: re.Match[str]) -> Device:
    return Device(
        rank=int(match["rank"]),
        group=int(match["group"] or 0),
        pid=int(match["pid"] or 0),
        host=match["host"],
        index=int(match["index"]),
        pci_address=match["pci"],
        name=match["name"].strip(),
    )


def _ranks(devices: Sequence[Device], parameters: re.Match[str] | None) -> tuple[int | None, tuple[str, ...]]:
    """The size of a communicator, and whether the list of ranks left some out."""
    if not devices:
        return None, ()
    sizes = Counter(device.group for device in devices)
    highest = max(device.rank for device in devices) + 1
    if len({(device.group, device.rank) for device in devices}) < len(devices):
        return highest, ("ranks_repeated",)
    if highest > len(devices):
        return (highest if len(sizes) == 1 else None), ("ranks_left_out",)
    here = int(parameters["threads"]) * int(parameters["gpus"]) if parameters else 0
    return max(*sizes.values(), here if len(sizes) == 1 else 0), ()


def _collective(lines: Sequence[str]) -> str:
    for pattern in (_PROGRAM, _COMMAND):
        if match := next((found for line in lines if (found := pattern.search(line))), None):
            return match[1]
    return ""
