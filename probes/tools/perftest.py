"""perftest's text (ib_write_bw and its family) becomes results: what ran, between which ends, with which numbers.

Versions 4.4 to 26.x. Lines are recognised by what they say, never by their column, so prefixes, tabs, GPU chatter and
text around the output do no harm. The client's and the server's copy of one run count once.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from probes.tools.pasted import Pasted, read_pasted
from probes.tools.percentiles import percentile
from probes.tools.perftest_argv import perftest_argv
from probes.tools.perftest_block import Block, read_block, split_blocks
from probes.tools.perftest_json import read_json_block
from probes.tools.perftest_rows import BandwidthRow, LatencyRow, Row
from probes.tools.qp_address import QpAddress

__all__ = [
    "BandwidthRow",
    "LatencyRow",
    "PerftestOutput",
    "PerftestResult",
    "Row",
    "parse_perftest",
    "parse_perftest_json",
    "percentile",
    "perftest_argv",
]

_GPU = re.compile(
    r"\bcu(?:da|Mem)|CUDA|GPU buffer|dmabuf|DMA-BUF|\[pid = \d+, dev = \d+\]|Picking device No", re.IGNORECASE
)
_WARNING = re.compile(r"\bWARNING\b|Conflicting CPU frequency|Changing to|inline size set|Disabling it", re.IGNORECASE)
_LINK_LAYERS = {"IB": "InfiniBand", "InfiniBand": "InfiniBand", "Ethernet": "Ethernet"}
_TRANSPORTS = {"IB": "InfiniBand", "IW": "iWARP", "USNIC": "usNIC", "SCIF": "SCIF"}
_SERVER_SILENT = ("RDMA_Read Latency", "Atomic")
_SAMPLES_LEFT_OUT = 3
_MOST_BLOCKS = 64
LARGEST_SWEEP_BYTES = 8 * 2**20


@dataclass(frozen=True, slots=True)
class PerftestResult:
    """One run. Empty text and None stand for what was not printed.

    ``unit`` is the label of the table; the rows are in base units whatever it was. ``samples_seconds`` are the raw
    latencies in time order (-U), half round trips for write and send tests. ``header_complete`` says that all
    settings were printed, ``table`` that a result table was begun, ``closed`` that the tool went on after its rows,
    ``cut_rows`` how many rows are not whole. ``server_only`` marks the end that prints no result by its nature.
    """

    test: str
    kind: str
    device: str
    link_layer: str
    transport: str
    connection: str
    gid_index: int | None
    mtu_bytes: int | None
    queue_pairs: int | None
    rdma_cm: bool | None
    tos: int | None
    bidirectional: bool
    unit: str
    local: tuple[QpAddress, ...]
    remote: tuple[QpAddress, ...]
    rows: tuple[Row, ...]
    cut_rows: int
    samples_seconds: tuple[Decimal, ...]
    header_complete: bool
    table: bool
    closed: bool
    server: bool
    server_only: bool
    ends: int = 1

    @property
    def same_size_rows(self) -> bool:
        """Whether the table repeats one message size: periodic reports of one long run."""
        sizes = [row.message_bytes for row in self.rows]
        return len(sizes) + self.cut_rows > 1 and len(set(sizes)) == 1

    @property
    def sweep(self) -> bool:
        """Whether the table goes through several message sizes."""
        return len({row.message_bytes for row in self.rows}) > 1

    @property
    def largest_row(self) -> Row | None:
        """The row of the largest message; of several such (periodic reports) the slowest."""
        return max(self.rows, key=lambda row: (row.message_bytes, -_speed(row)), default=None)


@dataclass(frozen=True, slots=True)
class PerftestOutput:
    """All that a text holds. ``results`` are distinct runs, in the order of the text.

    ``gpu_lines`` are evidence of GPU memory. ``truncated`` says that the text is cut or left something out, ``elided``
    that a line such as ``...`` says so;
    ``bare_numbers`` are lines of one number (--output), whose unit nobody can know.
    """

    results: tuple[PerftestResult, ...]
    gpu_lines: tuple[str, ...]
    warnings: tuple[str, ...]
    truncated: bool
    bare_numbers: tuple[Decimal, ...] = ()
    elided: bool = False

    @property
    def memory(self) -> str:
        """``cuda`` where the tool spoke of GPU buffers, else ``host``."""
        return "cuda" if self.gpu_lines else "host"


def parse_perftest(text: str) -> PerftestOutput:
    """Read one or more outputs of perftest tools, of one end or both; never raises."""
    pasted = read_pasted(text)
    blocks = _blocks(pasted)
    if not any(block.rows for block in blocks) and (from_json := read_json_block(text)):
        blocks = [from_json]
    results = tuple(_merged([_result(block) for block in blocks]))
    return PerftestOutput(
        results=results,
        gpu_lines=tuple(line.strip() for line in pasted.lines if _GPU.search(line)),
        warnings=tuple(dict.fromkeys(line.strip() for line in pasted.lines if _WARNING.search(line))),
        truncated=pasted.elided or any(_is_cut(result) for result in results),
        bare_numbers=() if blocks else _bare_numbers(pasted.lines),
        elided=pasted.elided,
    )


def parse_perftest_json(text: str, *, report_gbits: bool, version: str) -> PerftestResult | None:
    """Read the file of ``--out_json``; None if it is no valid JSON or of a version that writes none (before 6.20).

    The file names no unit: ``report_gbits`` says whether the tool was started with --report_gbits.
    """
    block = read_json_block(text, unit="Gb/sec" if report_gbits else "MiB/sec", version=version)
    return _result(block) if block else None


def _blocks(pasted: Pasted) -> list[Block]:
    pieces = split_blocks(pasted.lines)[:_MOST_BLOCKS]
    read = (
        read_block(piece, last=index == len(pieces) - 1, whole=pasted.whole and not pasted.elided)
        for index, piece in enumerate(pieces)
    )
    return [block for block in read if block is not None]


def _result(block: Block) -> PerftestResult:
    fields = block.fields
    return PerftestResult(
        test=block.test,
        kind=block.kind,
        device=fields.get("Device", ""),
        link_layer=_LINK_LAYERS.get(fields.get("Link type", ""), ""),
        transport=_TRANSPORTS.get(fields.get("Transport type", ""), ""),
        connection=fields.get("Connection type", ""),
        gid_index=_whole_number(fields.get("GID index")),
        mtu_bytes=_whole_number(fields.get("Mtu", "").removesuffix("[B]")),
        queue_pairs=_whole_number(fields.get("Number of qps")),
        rdma_cm={"ON": True, "OFF": False}.get(fields.get("rdma_cm QPs", "")),
        tos=_whole_number(fields.get("TOS")),
        bidirectional=block.bidirectional,
        unit=block.unit,
        local=block.local,
        remote=block.remote,
        rows=block.rows,
        cut_rows=block.cut_rows,
        samples_seconds=_whole_samples(block),
        header_complete=block.begun,
        table=block.table,
        closed=block.closed,
        server=block.server,
        server_only=block.server and not block.table and block.test.startswith(_SERVER_SILENT),
    )


def _whole_samples(block: Block) -> tuple[Decimal, ...]:
    """The samples, unless some are missing: the tool leaves out its few largest ones, and never more."""
    expected = block.rows[0].iterations if len(block.rows) == 1 else 0
    return block.samples_seconds if len(block.samples_seconds) >= expected - _SAMPLES_LEFT_OUT else ()


def _is_cut(result: PerftestResult) -> bool:
    return bool(result.cut_rows or (result.rows and not result.closed))


def _merged(results: Iterable[PerftestResult]) -> list[PerftestResult]:
    distinct: list[PerftestResult] = []
    for result in results:
        same = next((index for index, known in enumerate(distinct) if _same_run(known, result)), None)
        if same is None:
            distinct.append(result)
        else:
            distinct[same] = _better(distinct[same], result)
    return distinct


def _same_run(one: PerftestResult, other: PerftestResult) -> bool:
    """Two ends of one run name each other's queue pairs; without addresses only equal tables can say so."""
    if (one.kind, one.test or other.test) != (other.kind, other.test or one.test):
        return not (one.rows and other.rows) and _mirrored(one, other)
    if one.local and other.local:
        return _mirrored(one, other) or (one.local, one.remote) == (other.local, other.remote)
    return bool(one.rows) and one.rows == other.rows


def _mirrored(one: PerftestResult, other: PerftestResult) -> bool:
    return bool(one.local and one.remote) and (one.local, one.remote) == (other.remote, other.local)


def _better(one: PerftestResult, other: PerftestResult) -> PerftestResult:
    """The end that measured: one with rows, and of two such the client."""
    first, second = sorted((one, other), key=lambda result: (not result.rows, bool(result.cut_rows), result.server))
    return replace(first, closed=first.closed or (first.rows == second.rows and second.closed), ends=one.ends + 1)


def _speed(row: Row) -> Decimal:
    if isinstance(row, LatencyRow):
        return -(row.average_seconds or row.typical_seconds or Decimal(0))
    return row.average_bytes_per_second or Decimal(0)


def _whole_number(text: str | None) -> int | None:
    return int(text) if text and text.isdecimal() else None


def _bare_numbers(lines: Sequence[str]) -> tuple[Decimal, ...]:
    return tuple(Decimal(line.strip()) for line in lines if re.fullmatch(r"\s*\d+\.\d+\s*", line))
