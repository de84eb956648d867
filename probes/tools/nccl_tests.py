"""The output of nccl-tests or rccl-tests becomes reports: what ran, on which ranks, how fast, with which errors.

Text of versions 2.0 to 2.19 and the JSON of -J (2.17.6 on). Rows are read by the table's own header. What mpirun, the
terminal and NCCL_DEBUG put between the lines does no harm. Only rank 0 prints, so a text without a row says nothing
about the fabric. The file of -J holds the whole environment of the process: ``without_secrets`` comes before storing.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from probes.tools.nccl_tests_json import end_of_json, find_json, read_json_report
from probes.tools.nccl_tests_report import CollectiveReport, Device
from probes.tools.nccl_tests_rows import Row, Timing
from probes.tools.nccl_tests_secrets import without_secrets
from probes.tools.nccl_tests_text import read_text_report, split_reports
from probes.tools.pasted import read_pasted

__all__ = [
    "CollectiveReport",
    "Device",
    "Row",
    "Timing",
    "is_json",
    "read_all_nccl_tests",
    "read_nccl_tests",
    "without_json",
    "without_secrets",
]

_MOST_REPORTS = 64
_LONGEST_LINE = 4096


def is_json(text: str) -> bool:
    """Whether a text is, or holds, the file of -J."""
    return find_json(text) is not None


def without_json(text: str) -> str:
    """What stands beside the files of -J: the table, and NCCL's own lines."""
    return "".join(piece for piece, json in _pieces(text) if not json)


def read_nccl_tests(text: str) -> CollectiveReport:
    """The one report of a text, JSON or not; never raises.

    Of several reports the first with rows is returned, with the problem ``several_reports``; of none an empty one with
    the problem ``no_report``.
    """
    reports = read_all_nccl_tests(text)
    if not reports:
        return CollectiveReport(problems=("no_report",))
    chosen = next((one for one in reports if one.rows), reports[0])
    return chosen if len(reports) == 1 else chosen.with_problem("several_reports")


def read_all_nccl_tests(text: str) -> tuple[CollectiveReport, ...]:
    """Every report of a text in order: several commands, or the tables of ranks that never joined. Never raises.

    A table and the JSON of the same run after it are one report.
    """
    found: list[CollectiveReport] = []
    tables: list[CollectiveReport] = []
    for piece, json in _pieces(text):
        if json:
            report = read_json_report(piece)
            is_told_before = bool(tables) and _is_same_run(tables[-1], report)
            found.append(_joined(found.pop(), report) if is_told_before else report)
        else:
            tables = _read_text(piece)
            found.extend(tables)
    return tuple(found[:_MOST_REPORTS])


def _pieces(text: str) -> Iterator[tuple[str, bool]]:
    """The pieces of a text in order, and whether each is JSON."""
    position = 0
    while at := find_json(text, position):
        yield text[position : at.start()], False
        end = end_of_json(text, at.start())
        yield text[at.start() : end], True
        position = end
    yield text[position:], False


def _read_text(text: str) -> list[CollectiveReport]:
    pasted = read_pasted(text)
    pieces = split_reports([line[:_LONGEST_LINE] for line in pasted.lines])[:_MOST_REPORTS]
    return _read(pieces, pasted.whole, pasted.elided)


def _read(pieces: Sequence[Sequence[str]], whole: bool, elided: bool) -> list[CollectiveReport]:
    last = len(pieces) - 1
    return [read_text_report(piece, whole=whole or at < last, elided=elided) for at, piece in enumerate(pieces)]


def _is_same_run(table: CollectiveReport, json: CollectiveReport) -> bool:
    """Whether they tell of the same sizes and the same data; a table without rows was not kept."""
    shown, told = ([(row.size_bytes, row.count) for row in one.rows] for one in (table, json))
    same_data = table.out_of_bounds in (None, json.out_of_bounds)
    return shown in ([], told) and same_data and table.collective in ("", json.collective)


def _joined(table: CollectiveReport, json: CollectiveReport) -> CollectiveReport:
    """The JSON's numbers, which are exact, with what only the table tells."""
    return replace(
        json,
        devices=table.devices if len(table.devices) > len(json.devices) else json.devices,
        reduced_to_bytes=table.reduced_to_bytes,
        tests_version=table.tests_version,
        errors=tuple(dict.fromkeys((*table.errors, *json.errors))),
    )
