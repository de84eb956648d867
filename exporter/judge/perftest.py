"""The verdict on perftest output: first what the tool complained of, then whether the text is whole, then targets."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from exporter.judge.judgement import Judgement, of_failure
from exporter.judge.requirements import Requirement
from exporter.judge.targets import Verdict, hold_against
from probes import Status
from probes.tools.failures import classify
from probes.tools.percentiles import percentile
from probes.tools.perftest import (
    LARGEST_SWEEP_BYTES,
    BandwidthRow,
    LatencyRow,
    PerftestOutput,
    PerftestResult,
    Row,
    parse_perftest,
)
from probes.tools.ports import is_software

KIND = "perftest"
SMALL_MESSAGE_BYTES = 65536
UNSTABLE_PEAK_OVER_AVERAGE = 1.3
P99_NEEDED = 1000

_ERRNO = re.compile(r"ERRNO: ([\w ]+)", re.IGNORECASE)
_ERRNO_NAMES = {
    "bad address": "EFAULT",
    "cannot allocate memory": "ENOMEM",
    "invalid argument": "EINVAL",
    "operation not permitted": "EPERM",
    "permission denied": "EACCES",
    "operation not supported": "EOPNOTSUPP",
    "protocol not supported": "EPROTONOSUPPORT",
    "connection timed out": "ETIMEDOUT",
    "no such device": "ENODEV",
}
_VGPU = re.compile(r"device name = \[[^\]]*\b[A-Z]+\d+\w*-\d+[ABCQ]\b")
_CRASH = re.compile(r"Segmentation fault|core dumped")
_PROBLEMS = {
    "unit_unknown": "the numbers stand without a unit that is known",
    "not_a_number": "the result is no number",
    "negative": "the result is negative",
    "absurd": "the result is beyond any link",
    "inconsistent": "the columns contradict each other, as with a wrong unit",
}


def judge_perftest(text: str, requirements: Sequence[Requirement]) -> Judgement:
    """Judge the output of one run, of one end or both."""
    output = parse_perftest(text)
    result = output.results[0] if len(output.results) == 1 else None
    values = _about(text, output) | (_values(result) if result else {})
    rows = [_row(row) for one in output.results for row in one.rows]
    if failure := classify(text, ""):
        found = of_failure(KIND, failure, values)
        return Judgement(KIND, found.status, found.reason, found.summary, found.values, rows, output.warnings)
    verdict = _unusable(text, output) or (_verdict(output, result, values, requirements) if result else _nothing())
    return Judgement(KIND, *verdict, values, rows, output.warnings)


def _unusable(text: str, output: PerftestOutput) -> Verdict | None:
    """What forbids to judge the text as a whole."""
    if output.bare_numbers:
        return _unknown("unit_unknown", "one number without a header found, a table with its units wanted")
    in_json = "test_info" in text
    if not output.results or (in_json and not any(result.rows for result in output.results)):
        what = "JSON that is cut or lacks quotation marks" if in_json else "no perftest output"
        return _unknown("unparsable", f"{what} found, the tool's text wanted")
    if len(output.results) > 1:
        return _unknown("mixed_results", f"{len(output.results)} different results found, one wanted")
    return None


def _nothing() -> Verdict:
    return _unknown("unparsable", "no result found, one wanted")


def _verdict(
    output: PerftestOutput, result: PerftestResult, values: Mapping[str, Any], requirements: Sequence[Requirement]
) -> Verdict:
    row = result.largest_row
    if row is None:
        return _without_rows(result, output.truncated)
    # A whole row of one size is the whole measurement, whether or not the rule below it was copied too.
    if result.cut_rows or (not result.closed and (result.sweep or output.elided)):
        return _incomplete(result)
    if problems := sorted({problem for one in result.rows for problem in one.problems}):
        return _unknown(problems[0], f"{_PROBLEMS[problems[0]]}: a clean measurement wanted")
    if _is_zero(row):
        return Status.FAIL, "zero_result", f"{KIND}: {row.iterations} iterations at a rate of zero found, data wanted"
    if unfit := _unfit(result, row, requirements):
        return unfit
    return hold_against(values, requirements, KIND)


def _without_rows(result: PerftestResult, truncated: bool) -> Verdict:
    if result.server_only:
        return _unknown("server_output", "the server's end of this test prints no result, the client's output wanted")
    if truncated:
        return _unknown("incomplete", "a cut row or text left out found, a whole row wanted")
    if result.table and not result.unit:
        return _unknown("unparsable", "a table header that is cut or not known found, one with its units wanted")
    if result.header_complete or result.table:
        return Status.FAIL, "no_result", f"{KIND}: settings without a result found, a result row wanted"
    return _unknown("incomplete", "the text ends before the result, a result row wanted")


def _incomplete(result: PerftestResult) -> Verdict:
    if result.sweep:
        sizes = [row.message_bytes for row in result.rows]
        return _unknown("sweep_incomplete", f"a sweep up to {max(sizes)} B without an end found, a whole one wanted")
    return _unknown("incomplete", f"{len(result.rows)} whole row(s) without the table's end found, all of it wanted")


def _unfit(result: PerftestResult, row: Row, requirements: Sequence[Requirement]) -> Verdict | None:
    """What makes a clean table no measure of what is asked."""
    asked = {one.name for one in requirements}
    if isinstance(row, LatencyRow):
        several = "latencies of several sizes found, a run with one size wanted"
        return _unknown("several_sizes", several) if result.sweep else None
    if result.sweep and row.message_bytes < LARGEST_SWEEP_BYTES:
        return _unknown("sweep_incomplete", f"a sweep up to {row.message_bytes} B found, one up to 8 MiB wanted")
    if row.message_bytes < SMALL_MESSAGE_BYTES and (not asked or "bandwidth" in asked):
        return _unknown("small_message", f"messages of {row.message_bytes} B found, 64 KiB wanted for a link's rate")
    if result.bidirectional and asked & {"bandwidth", "message_rate"}:
        return _unknown("bidirectional", "the sum of both directions found, one direction wanted")
    return None


def _is_zero(row: Row) -> bool:
    if isinstance(row, LatencyRow):
        return not (row.average_seconds or row.typical_seconds)
    return not row.average_bytes_per_second and not row.message_rate_per_second


def _unknown(reason: str, sentence: str) -> Verdict:
    return Status.UNKNOWN, reason, f"{KIND}: {sentence}"


def _about(text: str, output: PerftestOutput) -> dict[str, Any]:
    """What the text says beside its results."""
    errno = _ERRNO.search(text)
    name = _ERRNO_NAMES.get(errno[1].strip().lower()) if errno else None
    return {
        "distinct_results": len(output.results),
        "result_present": any(result.rows for result in output.results),
        "truncated": output.truncated,
        "memory": output.memory,
        "gpu_is_vgpu": _VGPU.search(text) is not None,
        "crashed": _CRASH.search(text) is not None,
        "errno": name,
        "hint": "nvidia_peermem" if output.gpu_lines and name == "EFAULT" else None,
    }


def _values(result: PerftestResult) -> dict[str, Any]:
    named = {
        name: getattr(result, name)
        for name in ("test", "device", "link_layer", "transport", "connection", "gid_index", "mtu_bytes", "queue_pairs")
    }
    return {
        **named,
        "rdma_cm": result.rdma_cm,
        "tos": result.tos,
        "unit": result.unit,
        "bidirectional": result.bidirectional,
        "software_device": is_software(result.device),
        "addresses_exchanged": bool(result.local and result.remote),
        "local_gid": result.local[0].gid if result.local else "",
        "remote_gid": result.remote[0].gid if result.remote else "",
        "closed": result.closed,
        "rows_complete": len(result.rows),
        "rows_truncated": result.cut_rows,
        "same_size_rows": result.same_size_rows,
        "unstable_message_bytes": [
            row.message_bytes for row in result.rows if _peak_share(row) > UNSTABLE_PEAK_OVER_AVERAGE
        ],
        **_measured(result),
    }


def _measured(result: PerftestResult) -> dict[str, Any]:
    row = result.largest_row
    if isinstance(row, BandwidthRow):
        return {name: getattr(row, name) for name in _BANDWIDTH_NAMES}
    if row is None:
        return {}
    samples = result.samples_seconds
    exact = {
        f"latency_p{name}_seconds": percentile(samples, q) for name, q in (("50", 0.5), ("95", 0.95), ("99", 0.99))
    }
    if exact["latency_p99_seconds"] is None and row.iterations >= P99_NEEDED:
        exact["latency_p99_seconds"] = row.p99_seconds
    return {
        "message_bytes": row.message_bytes,
        "iterations": row.iterations,
        "latency_samples": len(samples),
        "latency_typical_seconds": row.typical_seconds,
        "latency_average_seconds": row.average_seconds,
        "latency_minimum_seconds": row.minimum_seconds,
        "latency_maximum_seconds": row.maximum_seconds,
        **exact,
    }


_BANDWIDTH_NAMES = (
    "message_bytes",
    "iterations",
    "average_bytes_per_second",
    "peak_bytes_per_second",
    "message_rate_per_second",
)


def _row(row: Row) -> dict[str, Any]:
    names = type(row).__dataclass_fields__
    share = {"peak_over_average": round(_peak_share(row), 3)} if _peak_share(row) else {}
    return {name: getattr(row, name) for name in names} | share


def _peak_share(row: Row) -> float:
    if isinstance(row, LatencyRow) or not row.peak_bytes_per_second or not row.average_bytes_per_second:
        return 0.0
    return float(row.peak_bytes_per_second / row.average_bytes_per_second)
