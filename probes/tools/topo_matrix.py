"""The matrix of ``nvidia-smi topo -m`` becomes plain data: cells, affinities, and the device behind each NIC's name.

Formats of drivers 4xx to 580: NIC columns named by their device (``mlx5_0``) or numbered with a legend (``NIC0``),
with or without NUMA affinity and GPU NUMA ID, header underlined by terminal escapes. The words of the key are no cells.
A row with fewer cells than the header has columns was cut.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from probes.readers.pci import Distance
from probes.tools.topo_matrix_lines import CELL, P2P_CELL, is_header, is_name, is_row, matrix_lines

TAILS = {"CPU Affinity": "cpu_affinity", "NUMA Affinity": "numa_affinity", "GPU NUMA ID": "gpu_numa_id"}
LEGEND = re.compile(r"^\s*(NIC\d+):\s*(\S+)\s*$")
NEXT_SECTIONS = (
    ("ibstatus", re.compile(r"^Infiniband device '")),
    ("ibstat", re.compile(r"^CA '")),
    ("ibv_devinfo", re.compile(r"^hca_id:")),
    ("rdma_link", re.compile(r"^link \S+/\d+ state ")),
    ("nvidia-smi", re.compile(r"^\+-{20,}|^GPU \d+: .*\(UUID: ")),
)
OTHER_TOOLS = (
    ("rocm-smi --showtopo", re.compile(r"ROCm System Management|(?:Weight|Hops|Link Type) between two GPUs")),
    ("amd-smi topology", re.compile(r"^ACCESS TABLE|^WEIGHT TABLE|^LINK TYPE TABLE", re.MULTILINE)),
    ("lstopo", re.compile(r"^\s*(?:Machine \(\d|HostBridge|PCIBridge)", re.MULTILINE)),
)
NO_DRIVER = re.compile(
    r"couldn't communicate with the NVIDIA driver|Failed to initialize NVML|nvidia-smi: command not found"
    r"|No devices were found|nvidia-smi: not found",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Row:
    """One device. ``cells`` has the word for each column that is there; affinities are empty where not printed.

    ``complete`` says that no cell is missing, ``cut`` that the text ends within the row.
    """

    name: str
    cells: Mapping[str, str]
    complete: bool
    cpu_affinity: str = ""
    numa_affinity: str = ""
    gpu_numa_id: str = ""
    cut: bool = False

    @property
    def numa_node(self) -> int | None:
        """The one NUMA node of its affinity; None for several, ``N/A`` or none."""
        return int(self.numa_affinity) if self.numa_affinity.isdecimal() else None


@dataclass(frozen=True, slots=True)
class Matrix:
    """``columns`` are the names of the header in its order. ``unnamed`` counts cells beyond the header's columns."""

    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    unnamed: int = 0

    @property
    def gpus(self) -> tuple[str, ...]:
        """The GPU columns."""
        return tuple(name for name in self.columns if name.startswith("GPU"))

    @property
    def nics(self) -> tuple[str, ...]:
        """All other columns."""
        return tuple(name for name in self.columns if not name.startswith("GPU"))

    def row(self, name: str) -> Row | None:
        """The row of that name."""
        return next((row for row in self.rows if row.name == name), None)


@dataclass(frozen=True, slots=True)
class TopoReport:
    """What a text holds. ``nic_legend`` maps ``NIC0`` to a device; ``next_section`` is the tool whose output follows.

    ``other_tool`` names the tool that the text is of when it is not this one; ``p2p`` says that it is another matrix of
    nvidia-smi; ``no_driver`` that nvidia-smi found none.
    """

    matrices: tuple[Matrix, ...] = ()
    nic_legend: Mapping[str, str] = field(default_factory=dict)
    next_section: str = ""
    other_tool: str = ""
    p2p: bool = False
    no_driver: bool = False
    elided: bool = False

    def device(self, nic: str) -> str:
        """The RDMA device of a column: by the legend, or the column's own name; empty where the legend lacks it."""
        return self.nic_legend.get(nic, "") if re.fullmatch(r"NIC\d+", nic) else nic


def parse_topo(text: str) -> TopoReport:
    """Read the text; never raises."""
    lines, pasted = matrix_lines(text)
    matrices = tuple(_matrices(lines, whole=pasted.whole))
    legend = {found[1]: found[2] for line in lines if (found := LEGEND.match(line))}
    return TopoReport(
        matrices=matrices,
        nic_legend=legend,
        next_section=next((name for line in lines for name, start in NEXT_SECTIONS if start.match(line)), ""),
        other_tool="" if matrices else next((name for name, mark in OTHER_TOOLS if mark.search(text)), ""),
        p2p=not matrices and any(_is_p2p(line.split()) for line in lines),
        no_driver=not matrices and bool(NO_DRIVER.search(text)),
        elided=pasted.elided,
    )


def distance_of(cell: str) -> Distance | None:
    """The distance of a cell; None for X, NV# and words that say none. SOC is what old drivers called SYS."""
    return Distance.__members__.get("SYS" if cell == "SOC" else cell)


def _matrices(lines: Sequence[str], *, whole: bool) -> Iterator[Matrix]:
    header: list[str] | None = None
    rows: list[list[str]] = []
    for line in lines:
        words = line.split()
        if is_row(words) and not _is_p2p(words):
            rows.append(words)
        elif is_header(words) or (rows and not line.strip()):
            if rows:
                yield _matrix(header, rows, cut_at_end=False)
                rows = []
            header = words if is_header(words) else None
    if rows:
        last = next((line for line in reversed(lines) if line.strip()), "").split()
        yield _matrix(header, rows, cut_at_end=not whole and last == rows[-1])


def _matrix(header: Sequence[str] | None, rows: Sequence[list[str]], *, cut_at_end: bool) -> Matrix:
    columns = _columns(header) if header is not None else _columns_of_rows(rows)
    tails = _tails(header or [])
    read = [_row(words, columns, tails, may_be_cut=cut_at_end and words is rows[-1]) for words in rows]
    unnamed = max((_cell_count(words) for words in rows), default=0) - len(columns)
    return Matrix(columns, tuple(read), max(unnamed, 0))


def _columns(header: Sequence[str]) -> tuple[str, ...]:
    return tuple(word for word in header if is_name(word))


def _columns_of_rows(rows: Sequence[list[str]]) -> tuple[str, ...]:
    """Without a header a square matrix names its own columns: X stands where a row meets itself."""
    square = all(_cell_count(words) == len(rows) and words[1 + i] == "X" for i, words in enumerate(rows))
    return tuple(words[0] for words in rows) if square else ()


def _tails(header: Sequence[str]) -> tuple[str, ...]:
    joined = " ".join(header)
    return tuple(name for words, name in TAILS.items() if words in joined)


def _row(words: Sequence[str], columns: Sequence[str], tails: Sequence[str], *, may_be_cut: bool) -> Row:
    count = min(_cell_count(words), len(columns))
    rest = words[1 + count :]
    short = may_be_cut and words[0].startswith("GPU") and len(rest) < len(tails)
    if may_be_cut and not rest and count and _may_go_on(words[count]):
        count -= 1
    cells = dict(zip(columns, words[1 : 1 + count], strict=False))
    complete = bool(columns) and count == len(columns)
    if short and rest:
        rest = rest[:-1]
    return Row(words[0], cells, complete, cut=short, **dict(zip(tails, rest, strict=False)))


def _may_go_on(cell: str) -> bool:
    """NV1 may be the beginning of NV18, and NOD is that of NODE."""
    return cell.startswith("NV") or not CELL.fullmatch(cell)


def _cell_count(words: Sequence[str]) -> int:
    return next((i for i, word in enumerate(words[1:]) if not _fits(word)), len(words) - 1)


def _fits(word: str) -> bool:
    """A cell, or a word that a driver to come may use as one; a number or a range is an affinity."""
    return bool(CELL.fullmatch(word)) or (word.isupper() and word.isalnum() and len(word) > 2)


def _is_p2p(words: Sequence[str]) -> bool:
    return is_row(words) and any(P2P_CELL.fullmatch(word) for word in words[1:])
