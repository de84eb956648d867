"""The verdict on nccl-tests output: right data first, then whether the planned run took place, then its speed.

The bandwidth judged is the bus bandwidth of the planned size, never the average over all sizes. A transport that the
same text shows to be TCP or staged through host memory cannot pass, however fast it was.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from exporter.judge.judgement import Judgement, of_failure
from exporter.judge.nccl_hints import hint_of
from exporter.judge.nccl_planned import Planned, planned
from exporter.judge.nccl_tests_values import row_values, run_values
from exporter.judge.requirements import Requirement
from exporter.judge.targets import Verdict, hold_against
from probes import Status
from probes.tools.nccl_log import CODES, NcclLog, TransportProof, read_nccl_log, transport_proof
from probes.tools.nccl_tests import CollectiveReport, Row, is_json, read_all_nccl_tests, without_json

KIND = "nccl-tests"
ERROR_BEYOND_BOUNDS = 0.1
ELEMENT_ROUNDING_BYTES = 64


def judge_nccl_tests(text: str, requirements: Sequence[Requirement]) -> Judgement:
    """Judge what rank 0 printed, or the file of -J, with NCCL's own lines in it or not."""
    reports = read_all_nccl_tests(text)
    said = _said(text, reports)
    log = read_nccl_log(said)
    plan = planned(requirements)
    report = next((one for one in reports if one.rows), reports[0] if reports else CollectiveReport())
    row = _row_of(report, plan.size_bytes)
    proof = transport_proof([log], ranks=report.ranks)
    values = run_values(reports, report, row) | _transport_values(log, proof)
    rows = [row_values(one) for one in report.rows]
    warnings = _warnings(report, log)
    if not _is_wrong(reports) and (failure := log.failure) is not None:
        found = of_failure(KIND, failure, values | {"hint": hint_of(said)})
        return Judgement(KIND, found.status, found.reason, found.summary, found.values, rows, warnings)
    verdict = (
        _wrong_data(reports)
        or _unusable(reports, report)
        or _other_run(report, row, plan)
        or _wrong_transport(log, proof, nodes=len(report.nodes))
        or hold_against(values, plan.targets, KIND)
    )
    return Judgement(KIND, *verdict, values, rows, warnings)


def _said(text: str, reports: Sequence[CollectiveReport]) -> str:
    """The lines of NCCL and of the tool; a report in JSON holds paths and an environment, which are no complaints."""
    if not is_json(text):
        return text
    return "\n".join((without_json(text), *(error for one in reports for error in one.errors)))


def _row_of(report: CollectiveReport, size_bytes: int | None) -> Row | None:
    """The planned size's row, else the largest size's; of several such the slowest. Sizes may be rounded a little."""
    rows = [row for row in report.rows if row.timing and row.size_bytes > 0]
    if size_bytes is not None:
        slack = min(ELEMENT_ROUNDING_BYTES * (report.ranks or report.ranks_implied or 1), size_bytes // 8)
        rows = [row for row in rows if 0 <= size_bytes - row.size_bytes <= slack]
    return max(rows, key=lambda row: (row.size_bytes, -_bus(row)), default=None)


def _bus(row: Row) -> float:
    return float(row.timing.bus_bytes_per_second) if row.timing else 0.0


def _is_wrong(reports: Sequence[CollectiveReport]) -> bool:
    return any(one.out_of_bounds or one.wrong or _error(one) for one in reports)


def _error(report: CollectiveReport) -> bool:
    """Old versions print a relative error; the bound depends on type and ranks and is never near one tenth."""
    placements = [one for row in report.rows for one in (row.out_of_place, row.in_place) if one]
    return report.out_of_bounds is None and any((one.error or 0) > ERROR_BEYOND_BOUNDS for one in placements)


def _wrong_data(reports: Sequence[CollectiveReport]) -> Verdict | None:
    if not _is_wrong(reports):
        return None
    bounds = sum(one.out_of_bounds or 0 for one in reports)
    elements = sum(one.wrong or 0 for one in reports)
    found = f"{bounds} sizes out of bounds and {elements} wrong elements found, none wanted"
    return Status.FAIL, "wrong_data", f"{KIND}: {found}"


def _unusable(reports: Sequence[CollectiveReport], report: CollectiveReport) -> Verdict | None:
    """What forbids to judge the text as a whole."""
    if not reports:
        return _unknown("unparsable", "no nccl-tests output found, the tool's text or JSON wanted")
    if any("ranks_repeated" in one.problems for one in reports):
        return _unknown("ranks_not_joined", "processes that each call themselves rank 0 found, one run wanted")
    if len(reports) > 1:
        return _several(reports)
    if problem := next((one for one in _PROBLEMS if one in report.problems), None):
        return _unknown(problem, f"{_PROBLEMS[problem]} found, numbers with known units wanted")
    return _unended(report)


def _unended(report: CollectiveReport) -> Verdict | None:
    if not report.rows:
        return _unknown("incomplete", "no result row found, at least one wanted")
    if report.cut_rows or not report.ended:
        end = "an end" if report.ended else "no summary"
        found = f"{len(report.rows)} whole rows, {report.cut_rows} cut ones and {end}"
        return _unknown("incomplete", f"{found} found, a whole run wanted")
    if report.minimum_met is False:
        return Status.FAIL, "missed_limit", f"{KIND}: an average below NCCL_TESTS_MIN_BW found, one above it wanted"
    return None


_PROBLEMS: Mapping[str, str] = {
    "unit_unknown": "a unit that is not known",
    "not_a_number": "a result that is no number",
}


def _several(reports: Sequence[CollectiveReport]) -> Verdict:
    alone = [one for one in reports if one.ranks == 1 or one.ranks_implied == 1]
    if len(alone) == len(reports) and len({one.collective for one in reports}) == 1:
        return _unknown("ranks_not_joined", f"{len(reports)} runs of one rank each found, one run of all ranks wanted")
    whole = sum(1 for one in reports if one.rows and one.ended)
    if whole < len(reports):
        return _unknown("incomplete", f"{whole} of {len(reports)} runs with a whole result found, all wanted")
    return _unknown("mixed_results", f"{len(reports)} runs found, one wanted")


def _other_run(report: CollectiveReport, row: Row | None, plan: Planned) -> Verdict | None:
    """Whether what ran is what was planned."""
    ranks = _ranks(report)
    if ranks == 1:
        return _unknown("one_rank", "one rank found, two or more wanted: one alone moves nothing")
    if report.ranks_implied and ranks != report.ranks_implied:
        found = f"{report.ranks} ranks listed and bandwidths of {report.ranks_implied} ranks"
        return _unknown("inconsistent", f"{found} found, one number wanted")
    if plan.ranks is not None and ranks != plan.ranks:
        return _unknown("ranks_differ", f"{ranks or 'no number of'} ranks found, {plan.ranks} wanted")
    if row is None:
        largest = max((one.size_bytes for one in report.rows), default=0)
        return _unknown("size_not_run", f"sizes up to {largest} B found, {plan.size_bytes} B wanted")
    if plan.size_bytes is None and report.reduced_to_bytes is not None:
        found = f"{row.size_bytes} B run instead of {report.asked_bytes} B for want of memory"
        return _unknown("size_not_run", f"{found} found, the planned size wanted")
    return None


def _ranks(report: CollectiveReport) -> int | None:
    """As listed; where text was left out, the list may be what is missing, and the bandwidths tell."""
    left_out = report.truncated and report.ended
    return (report.ranks_implied if left_out else None) or report.ranks or report.ranks_implied


def _wrong_transport(log: NcclLog, proof: TransportProof, *, nodes: int) -> Verdict | None:
    """Only bad evidence counts here: a bandwidth test without NCCL's lines is judged by its bandwidth."""
    if (not log.channels and nodes < 2) or proof.status is not Status.FAIL:
        return None
    cause = f"; {CODES[proof.cause].meaning}" if proof.cause else ""
    return Status.FAIL, proof.reason, f"{KIND}: {proof.sentence}{cause}"


def _transport_values(log: NcclLog, proof: TransportProof) -> dict[str, Any]:
    shown = bool(log.channels)
    return {
        "transport": str(proof.transport) if shown else None,
        "gpudirect": proof.gpudirect if shown else None,
        "network": list(proof.networks or log.networks),
    }


def _warnings(report: CollectiveReport, log: NcclLog) -> list[str]:
    notes = {
        "no row's data was checked: this run cannot show wrong results": report.data_checked is False,
        "text was left out: the average covers rows that are not shown": report.truncated and report.ended,
        "the table's header is lost: its usual columns and units are taken": "header_lost" in report.problems,
        "the list of ranks leaves some out": "ranks_left_out" in report.problems,
        "NCCL's own lines are missing: nothing is known of the transport": bool(report.rows) and not log.channels,
    }
    return [note for note, applies in notes.items() if applies]


def _unknown(reason: str, sentence: str) -> Verdict:
    return Status.UNKNOWN, reason, f"{KIND}: {sentence}"
