"""One end's output of one perftest run: title, settings, addresses, table, samples."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from probes.tools.perftest_rows import (
    SECONDS_PER_MICROSECOND,
    Header,
    Row,
    is_cut_row,
    is_header,
    last_number_is_whole,
    make_row,
    read_cells,
    read_header,
)
from probes.tools.qp_address import QpAddress, read_address, read_gid_octets

_TITLE = re.compile(
    r"\b(?P<verb>RDMA_Write(?:_With_Imm|_with_imm)?|RDMA_Read|Send|Atomic \w+|Raw ?Ethernet(?: \w+)?)\s+"
    r"(?P<both>Bidirectional\s+)?(?P<post>Post List\s+)?(?P<kind>BW|Latency)(?P<more>[ \w]*?)\s+Test\s*$"
)
_FIELD = re.compile(
    r"\b(Dual-port|Device|Number of qps|Transport type|Connection type|Using SRQ|PCIe relax order|Lock-free|"
    r"ibv_wr\* API|Using DDP|Using Enhanced Reorder|TX depth|RX depth|CQ Moderation|CQE Poll Batch|Post List|"
    r"Recv Post List|Mtu|Link type|G[Ii][Dd] index|Max inline data|Outstand reads|rdma_cm QPs|Data ex\. method|TOS|"
    r"NUMA node)\s*:\s*([^\s\"]\S*)"
)
_BANNER = re.compile(r"^\W*Waiting for client to connect")
_RULE = re.compile(r"^\s*-{3,}\s*$")
_SAMPLE = re.compile(r"^\s*(\d+), (-?\d+(?:\.\d+)?(?:e[-+]?\d{1,3})?)\s*$")
_SAMPLES_HEAD = re.compile(r"#, (\w+)")


@dataclass(frozen=True, slots=True)
class Block:
    """What one end printed. ``fields`` are the settings as printed; samples are in seconds, in the order printed.

    ``begun`` says that the whole list of settings was printed, ``table`` that a result table began, ``closed`` that
    the tool went on after its last row. ``cut_rows`` counts rows that are not whole.
    """

    test: str = ""
    kind: str = ""
    bidirectional: bool = False
    server: bool = False
    fields: dict[str, str] = field(default_factory=dict)
    local: tuple[QpAddress, ...] = ()
    remote: tuple[QpAddress, ...] = ()
    rows: tuple[Row, ...] = ()
    unit: str = ""
    cut_rows: int = 0
    samples_seconds: tuple[Decimal, ...] = ()
    begun: bool = False
    table: bool = False
    closed: bool = False


def split_blocks(lines: Sequence[str]) -> list[list[str]]:
    """Cut pasted lines where another end or another run begins: a server's banner, a second title, a second table."""
    blocks: list[list[str]] = [[]]
    header: Header | None = None
    titled = rowed = False
    for line in lines:
        titles, headers = _TITLE.search(line) is not None, read_header(line)
        if (titled and (titles or _BANNER.search(line))) or (rowed and headers):
            blocks.append([])
            header, titled, rowed = None, False, False
        blocks[-1].append(line)
        header = headers or header
        titled = titled or titles or is_header(line)
        rowed = rowed or (header is not None and read_cells(line, header) is not None)
    return blocks


def read_block(lines: Sequence[str], *, last: bool, whole: bool) -> Block | None:
    """Read one end's lines; None when there is nothing of a perftest run in them.

    ``last`` says that no other block follows; ``whole`` that the last line has an end.
    """
    title = next((match for line in lines if (match := _TITLE.search(line))), None)
    header = next((found for line in lines if (found := read_header(line))), None)
    fields = dict(pair for line in lines for pair in _FIELD.findall(line))
    server = any(_BANNER.search(line) for line in lines)
    if not (title or header or fields or server):
        return None
    rows, cut_rows, closed = _table(lines, header, whole or not last)
    local, remote = _addresses(lines)
    return Block(
        test=" ".join(title.group().split()).removesuffix(" Test") if title else "",
        kind=header.kind if header else _kind(title),
        bidirectional=bool(title and title["both"]),
        server=server,
        fields={name.replace("Gid index", "GID index"): value for name, value in fields.items()},
        local=local,
        remote=remote,
        rows=rows,
        unit=header.unit if header else "",
        cut_rows=cut_rows,
        samples_seconds=_samples(lines),
        begun=_begun(lines),
        table=any(is_header(line) for line in lines),
        closed=closed or (bool(rows) and not last),
    )


def _kind(title: re.Match[str] | None) -> str:
    if title is None:
        return ""
    return "latency" if title["kind"] == "Latency" else "bandwidth"


def _table(lines: Sequence[str], header: Header | None, whole: bool) -> tuple[tuple[Row, ...], int, bool]:
    """The rows, how many more are not whole, and whether the tool printed on after them."""
    if header is None:
        return (), 0, False
    begin = next(index for index, line in enumerate(lines) if read_header(line))
    filled = [line for line in lines[begin + 1 :] if line.strip()]
    samples_unit = _samples_unit(lines)
    rows: list[Row] = []
    cut_rows, after = 0, ""
    for index, line in enumerate(filled):
        cells = read_cells(line, header)
        ends_text = index == len(filled) - 1 and not whole
        if cells and not (ends_text and not last_number_is_whole(line, header)):
            rows.append(make_row(cells, header, samples_unit))
            after = ""
        elif cells or is_cut_row(line, header):
            cut_rows += 1
        elif not after:
            after = line
    return tuple(rows), cut_rows, bool(rows) and _closes(after, lines)


def _closes(after: str, lines: Sequence[str]) -> bool:
    """A rule closes the table only if it is as long as the others: a shorter one is where the text was cut."""
    if not _RULE.match(after):
        return bool(after) and not set(after.strip()) <= {"-"}
    longest = max(len(line.strip()) for line in lines if _RULE.match(line))
    return len(after.strip()) == longest >= 40


def _addresses(lines: Sequence[str]) -> tuple[tuple[QpAddress, ...], tuple[QpAddress, ...]]:
    found: dict[str, list[QpAddress]] = {"local": [], "remote": []}
    side = ""
    for line in lines:
        if read := read_address(line):
            side = read[0]
            found[side].append(read[1])
        elif side and (gid := read_gid_octets(line)):
            last = found[side][-1]
            found[side][-1] = QpAddress(last.lid, last.qpn, last.psn, gid)
    return tuple(found["local"]), tuple(found["remote"])


def _samples_unit(lines: Sequence[str]) -> str:
    """The unit that heads the raw samples ("usec", or "cycles" with -C); empty where none were asked for."""
    return next((match[1] for line in lines if (match := _SAMPLES_HEAD.fullmatch(line.strip()))), "")


def _samples(lines: Sequence[str]) -> tuple[Decimal, ...]:
    """The dump in time order (-U); where only a sorted one (-H) was printed, that one. None where they are no times."""
    if _samples_unit(lines) not in ("", "usec"):
        return ()
    dumps = list(_dumps(lines))
    unsorted = [dump for dump in dumps if list(dump) != sorted(dump)]
    return next(iter(unsorted or dumps), ())


def _dumps(lines: Sequence[str]) -> Iterator[tuple[Decimal, ...]]:
    dump: list[Decimal] = []
    for line in (*lines, "#, usec"):
        match = _SAMPLE.match(line)
        if match and int(match[1]) == len(dump) + 1:
            dump.append(Decimal(match[2]) * SECONDS_PER_MICROSECOND)
        elif dump and line.strip().startswith("#"):
            yield tuple(dump)
            dump = []


def _begun(lines: Sequence[str]) -> bool:
    """The settings end with a rule; one that is shorter than the others is where the text was cut."""
    longest = max((len(line.strip()) for line in lines if _RULE.match(line)), default=0)
    last = max((index for index, line in enumerate(lines) if "Data ex. method" in line), default=None)
    if last is None:
        return False
    return any(_RULE.match(line) and len(line.strip()) == longest >= 40 for line in lines[last + 1 :])
