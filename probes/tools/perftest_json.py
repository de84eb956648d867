"""The JSON file of perftest's --out_json, valid from version 6.20 on; it names no unit and keeps only the last row.

Source: perftest's perftest_parameters.c. Older versions write keys without quotation marks, which is not JSON.
"""

import json
import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from probes.tools.perftest_block import Block
from probes.tools.perftest_rows import Header, make_row

FIRST_VALID_VERSION = (6, 20)
_BEYOND_ANY = 10**18

_BANDWIDTH = {
    "#bytes": "MsgSize",
    "#iterations": "n_iterations",
    "BW peak": "BW_peak",
    "BW average": "BW_average",
    "MsgRate": "MsgRate",
    "CPU_Util": "CPU_util",
}
_LATENCY = {
    "#bytes": "MsgSize",
    "#iterations": "n_iterations",
    "t_min": "t_min",
    "t_max": "t_max",
    "t_typical": "t_typical",
    "t_avg": "t_avg",
    "t_stdev": "t_stdev",
    "99% percentile": "percentile_99",
    "99.9% percentile": "percentile_99.9",
    "tps average": "tps_average",
}
_FIELDS = {
    "Device": "Device",
    "Number of qps": "Number_of_qps",
    "Transport type": "Transport_type",
    "Connection type": "Connection_type",
    "Mtu": "Mtu",
    "Link type": "Link_type",
    "GID index": "GID_index",
    "rdma_cm QPs": "rdma_cm_QPs",
    "Data ex. method": "Data_ex_method",
    "TOS": "TOS",
}


def read_json_block(text: str, *, unit: str = "", version: str = "") -> Block | None:
    """Read one JSON report as a block; None when the text is not one, or of a version before 6.20.

    With no ``unit`` a bandwidth keeps its row, but without values: nobody can know what they mean.
    """
    document = _document(text)
    if document is None or (version and _numbers(version) < FIRST_VALID_VERSION):
        return None
    info, found = document["test_info"], document["results"]
    latency = "t_avg" in found
    header = Header(tuple(found), "usec" if latency else unit, "latency" if latency else "bandwidth")
    cells = _cells(found, _LATENCY if latency else _BANDWIDTH)
    if not cells.keys() >= {"#bytes", "#iterations", "t_avg" if latency else "BW average"}:
        return None
    return Block(
        test=str(info.get("test", "")).replace("_Test", "").replace("Write_", "Write ").replace("Read_", "Read "),
        kind=header.kind,
        fields={name: str(info[key]) for name, key in _FIELDS.items() if key in info},
        rows=(make_row(cells, header),),
        unit=header.unit,
        begun=True,
        table=True,
        closed=True,
    )


def _document(text: str) -> dict[str, Any] | None:
    start = re.search(r"\{\s*\"test_info\"", text)
    if start is None:
        return None
    try:
        document, _ = json.JSONDecoder(parse_float=Decimal).raw_decode(text, start.start())
    except (ValueError, RecursionError):
        return None
    whole = isinstance(document.get("test_info"), dict) and isinstance(document.get("results"), dict)
    return document if whole else None


def _cells(found: Mapping[str, Any], columns: Mapping[str, str]) -> dict[str, Decimal]:
    numbers = {column: found.get(key) for column, key in columns.items()}
    return {column: Decimal(n) for column, n in numbers.items() if isinstance(n, int | Decimal) and n < _BEYOND_ANY}


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:2])
