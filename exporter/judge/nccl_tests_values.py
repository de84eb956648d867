"""The numbers of a run of nccl-tests in base units, as the judge answers them."""

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from probes.tools.nccl_tests import CollectiveReport, Row, Timing
from probes.tools.percentiles import percentile

_STAGES = (
    ("bootstrap", re.compile(r"[Bb]ootstrap ?:? ?(?:no socket|Root)|bootstrap\.cc:\d+ ->|is neither AF_INET")),
    ("init", re.compile(r"init\.cc:\d+ ->|Failed to initialize")),
)


def run_values(reports: Sequence[CollectiveReport], report: CollectiveReport, row: Row | None) -> dict[str, Any]:
    """Everything about a run; ``row`` is the one that is judged."""
    peak = max(_placements(report), key=lambda one: one[1].bus_bytes_per_second, default=None)
    largest = max((one.size_bytes for one in report.rows), default=None)
    return {
        "distinct_results": len(reports),
        "results_complete": sum(1 for one in reports if one.rows and one.ended),
        "collective": report.collective,
        "collectives": [one.collective for one in reports],
        "ranks": report.ranks,
        "ranks_implied": report.ranks_implied,
        "groups": report.groups,
        "nodes": len(report.nodes) or None,
        "hosts": list(report.nodes),
        "rows_complete": len(report.rows),
        "rows_truncated": report.cut_rows,
        "truncated": report.truncated,
        "ended": report.ended,
        "data_checked": report.data_checked,
        "wrong": report.wrong,
        "wrong_last_row": _last_wrong(report),
        "error_maximum": _largest_error(report),
        "out_of_bounds": report.out_of_bounds,
        "average_bus_bytes_per_second": report.average_bus_bytes_per_second,
        "minimum_met": report.minimum_met,
        "asked_bytes": report.asked_bytes,
        "reduced_to_bytes": report.reduced_to_bytes,
        "largest_bytes": largest,
        "peak_bus_bytes_per_second": peak[1].bus_bytes_per_second if peak else None,
        "peak_bytes": peak[0].size_bytes if peak else None,
        "iterations": report.iterations,
        "warmup_iterations": report.warmup_iterations,
        "tests_version": report.tests_version,
        "nccl_version": report.nccl_version,
        "problems": list(report.problems),
        "stage": _stage(report),
        **_judged(row),
    }


def row_values(row: Row) -> dict[str, Any]:
    """One row; samples are left out."""
    return {
        "size_bytes": row.size_bytes,
        "count": row.count,
        "type": row.type,
        "redop": row.redop,
        "root": row.root,
        "out_of_place": _timing(row.out_of_place),
        "in_place": _timing(row.in_place),
    }


def _judged(row: Row | None) -> dict[str, Any]:
    timing = row.timing if row else None
    if row is None or timing is None:
        return {"size_bytes": None, "bus_bandwidth_bytes_per_second": None}
    samples = timing.samples_seconds
    return {
        "size_bytes": row.size_bytes,
        "bus_bandwidth_bytes_per_second": timing.bus_bytes_per_second,
        "in_place_bus_bandwidth_bytes_per_second": row.in_place.bus_bytes_per_second if row.in_place else None,
        "algorithm_bandwidth_bytes_per_second": timing.algorithm_bytes_per_second,
        "latency_seconds": timing.seconds,
        "latency_samples": len(samples),
        "latency_p50_seconds": percentile(samples, 0.5),
        "latency_p95_seconds": percentile(samples, 0.95),
        "latency_p99_seconds": percentile(samples, 0.99),
    }


def _placements(report: CollectiveReport) -> list[tuple[Row, Timing]]:
    return [(row, one) for row in report.rows for one in (row.out_of_place, row.in_place) if one]


def _last_wrong(report: CollectiveReport) -> int | None:
    timing = report.rows[-1].timing if report.rows else None
    return timing.wrong if timing else None


def _largest_error(report: CollectiveReport) -> Decimal | None:
    return max((one.error for _, one in _placements(report) if one.error is not None), default=None)


def _timing(timing: Timing | None) -> dict[str, Any] | None:
    names = ("seconds", "algorithm_bytes_per_second", "bus_bytes_per_second", "wrong", "error", "p99_seconds")
    return {name: getattr(timing, name) for name in names} if timing else None


def _stage(report: CollectiveReport) -> str | None:
    said = "\n".join(report.errors)
    found = next((stage for stage, pattern in _STAGES if pattern.search(said)), None)
    return found or ("run" if report.rows else None)
