"""The file that nccl-tests writes with -J, versions 1 to 3 of its format, whole or cut by a killed run.

Booleans are strings, ``nan`` is a string, and ``devices`` has one entry for each process, not for each rank.
Source: nccl-tests' util.cu.
"""

import json
import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from probes.tools.nccl_tests_report import CollectiveReport, Device
from probes.tools.nccl_tests_rows import Row, Timing

GIGABYTE = Decimal(10**9)
MICROSECOND = Decimal("1e-6")
_BEGIN = re.compile(r'^\s*\{(?=\s*"(?:version|start_time|args|env)"\s*:)', re.MULTILINE)
_ROW = re.compile(r'\{\s*"size"\s*:')
_DECODER = json.JSONDecoder(parse_float=Decimal, parse_constant=lambda _: None)
_PROGRAM = re.compile(r"([a-z_]+)_perf\b")


def find_json(text: str, position: int = 0) -> re.Match[str] | None:
    """Where the next report in JSON begins."""
    return _BEGIN.search(text, position)


def end_of_json(text: str, begin: int) -> int:
    """Where the report that begins there ends; one that is cut has the rest of the text."""
    try:
        return _DECODER.raw_decode(text, text.index("{", begin))[1]
    except (ValueError, RecursionError):
        return len(text)


def read_json_report(text: str) -> CollectiveReport:
    """Read a report in JSON; what a cut file still holds is read too, with the problem ``json_cut``. Never raises."""
    try:
        document, _ = _DECODER.raw_decode(text.lstrip())
    except (ValueError, RecursionError):
        document = _rescued(text)
    return _report(document if isinstance(document, dict) else {})


def _rescued(text: str) -> dict[str, Any]:
    """The complete members of a file that was cut."""
    found = {key: value for key in ("version", "args", "nccl_version", "config") if (value := _member(text, key))}
    return found | {"results": list(_rows_in(text)), "cut": True}


def _member(text: str, key: str) -> Any:
    match = re.search(rf'"{key}"\s*:\s*', text)
    return _decoded(text, match.end()) if match else None


def _rows_in(text: str) -> Iterator[Any]:
    for match in _ROW.finditer(text):
        if (row := _decoded(text, match.start())) is None:
            return
        yield row


def _decoded(text: str, at: int) -> Any:
    try:
        return _DECODER.raw_decode(text, at)[0]
    except (ValueError, RecursionError):
        return None


def _report(document: Mapping[str, Any]) -> CollectiveReport:
    config, bounds = _mapping(document.get("config")), _mapping(document.get("out_of_bounds"))
    average = _mapping(document.get("average_bus_bandwidth"))
    rows = [_row(one) for one in _list(document.get("results")) if isinstance(one, dict)]
    devices = tuple(_device(one) for one in _list(config.get("devices")) if isinstance(one, dict))
    cut = "cut" in document or not bounds
    bandwidth = _number(average.get("bandwidth"))
    return CollectiveReport(
        collective=_collective(document.get("args")),
        ranks=_ranks(config, len(devices)),
        devices=devices,
        rows=tuple(row for row in rows if row),
        average_bus_bytes_per_second=None if bandwidth is None else bandwidth * GIGABYTE,
        out_of_bounds=_whole(bounds.get("count")),
        minimum_met={"true": True, "false": False}.get(str(average.get("okay"))),
        asked_bytes=_whole(config.get("maximum_bytes")),
        iterations=_whole(config.get("iterations")),
        warmup_iterations=_whole(config.get("warmup_iters")),
        validation=None if (checked := _whole(config.get("validation"))) is None else checked > 0,
        nccl_version=nccl_version(document.get("nccl_version")),
        ended=not cut,
        truncated=cut,
        problems=(*(("json_cut",) if cut else ()), *(("not_a_number",) if None in rows else ())),
        errors=_errors(document.get("errors")),
    )


def nccl_version(code: object) -> str:
    """``22809`` is 2.28.9; up to 2.8 the code had four digits."""
    number = _whole(code)
    if not number or number < 1000:
        return ""
    major, rest = divmod(number, 10000) if number >= 10000 else divmod(number, 1000)
    return f"{major}.{rest // 100}.{rest % 100}"


def _ranks(config: Mapping[str, Any], processes: int) -> int | None:
    threads, gpus = _whole(config.get("nthreads")), _whole(config.get("ngpus"))
    return processes * threads * gpus if processes and threads and gpus else None


def _device(entry: Mapping[str, Any]) -> Device:
    return Device(
        rank=_whole(entry.get("rank")) or 0,
        group=_whole(entry.get("group")) or 0,
        pid=_whole(entry.get("pid")) or 0,
        host=str(entry.get("hostname", "")),
        index=_whole(entry.get("device")) or 0,
        pci_address=str(entry.get("device_hex", "")),
        name=str(entry.get("device_info", "")),
    )


def _row(entry: Mapping[str, Any]) -> Row | None:
    """One result; None where a number of it is none."""
    size, count, root = (_whole(entry.get(name)) for name in ("size", "count", "root"))
    try:
        first, second = (_timing(entry, place) for place in ("out_of_place", "in_place"))
    except ValueError:
        return None
    if size is None or (first is None and second is None):
        return None
    return Row(size, count or 0, str(entry.get("type", "")), str(entry.get("redop", "")), root, first, second)


def _timing(entry: Mapping[str, Any], place: str) -> Timing | None:
    found = entry.get(place)
    if not isinstance(found, dict):
        return None
    seconds = _number(found.get("time", found.get("cpu_time")))
    algorithm, bus = _number(found.get("alg_bw")), _number(found.get("bus_bw"))
    if seconds is None or algorithm is None or bus is None:
        raise ValueError(f"{place}: {found} found, numbers wanted")
    each = _mapping(entry.get(f"{place}_per_iter"))
    samples = [_number(one) for one in _list(each.get("times_us"))]
    p99 = _number(each.get("p99_us"))
    return Timing(
        seconds=seconds * MICROSECOND,
        algorithm_bytes_per_second=algorithm * GIGABYTE,
        bus_bytes_per_second=bus * GIGABYTE,
        wrong=_whole(found.get("nwrong")),
        p99_seconds=None if p99 is None else p99 * MICROSECOND,
        samples_seconds=tuple(one * MICROSECOND for one in samples if one is not None),
    )


def _collective(args: object) -> str:
    program = str(args[0]) if isinstance(args, list) and args else ""
    match = _PROGRAM.search(program)
    return match[1] if match else ""


def _errors(found: object) -> tuple[str, ...]:
    return tuple(str(one) for one in _list(found) if one)


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _number(value: object) -> Decimal | None:
    return Decimal(value) if isinstance(value, int | Decimal) and not isinstance(value, bool) else None


def _whole(value: object) -> int | None:
    if isinstance(value, str) and value.strip().lstrip("-").isdecimal():
        return int(value)
    number = _number(value)
    return int(number) if number is not None and number.adjusted() < 30 else None
