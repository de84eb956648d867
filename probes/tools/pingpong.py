"""ibv_rc_pingpong and ibv_ud_pingpong: the request becomes an argv, the text becomes one round-trip time.

The tools print two lines at the end. Bytes count both directions (size x iterations x 2), Mbit is 10^6 bit, and
usec/iter is a whole round trip, unlike perftest's latency. Source: rdma-core, libibverbs/examples.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from probes._endpoint import TestRequest, Tool
from probes.tools.pasted import read_pasted
from probes.tools.perftest_argv import plain_name
from probes.tools.qp_address import QpAddress, read_address

_NUMBER = r"(\d+(?:\.\d+)?)"
_BYTES = re.compile(rf"(?:^|\s)(\d+) bytes in {_NUMBER} seconds = {_NUMBER} Mbit/sec\b")
_ITERATIONS = re.compile(rf"(?:^|\s)(\d+) iters in {_NUMBER} seconds = {_NUMBER} usec/iter\b")
_BEGUN = re.compile(r"(?<!\d)\d+ (?:bytes|iters) in\b")
_UD_LOCAL = re.compile(r"local address:[^:]*PSN 0x[0-9a-fA-F]+: GID")
_BAD_PAGE = re.compile(r"invalid data in page")
_MOST_RESULTS = 64
BITS_PER_BYTE = Decimal(8)


@dataclass(frozen=True, slots=True)
class PingPongResult:
    """One end's result. ``throughput_bytes_per_second`` is of both directions together, as the tool prints it.

    ``consistent`` says that bytes, iterations and both rates belong together.
    """

    transferred_bytes: int
    iterations: int
    round_trip_seconds: Decimal
    throughput_bytes_per_second: Decimal
    local: QpAddress | None
    remote: QpAddress | None
    consistent: bool


@dataclass(frozen=True, slots=True)
class PingPongOutput:
    """All that a text holds: one result for each run, client's and server's copy counted once.

    ``local`` and ``remote`` are the first addresses, also where no result followed. ``truncated`` says that one of
    the two result lines is missing, cut, or that text was left out.
    """

    results: tuple[PingPongResult, ...]
    local: QpAddress | None
    remote: QpAddress | None
    datagram: bool
    truncated: bool
    invalid_pages: int = 0


def pingpong_argv(
    request: TestRequest, *, device: str, gid_index: int | None, tcp_port: int, server: str | None
) -> tuple[str, ...]:
    """The command of one end: the server's where ``server`` is None. ``gid_index`` is None on InfiniBand.

    Raises ValueError for another tool, or a name that would read as an option.
    """
    if request.tool is not Tool.RC_PINGPONG:
        raise ValueError(f"tool: {request.tool} found, {Tool.RC_PINGPONG} wanted")
    return (
        *("stdbuf", "-oL", request.tool.value, "-d", plain_name("device", device), "-i", str(request.port)),
        *(("-g", str(gid_index)) if gid_index is not None else ()),
        *("-p", str(tcp_port), "-s", str(request.message_bytes), "-n", str(request.iterations)),
        *(("-m", str(request.path_mtu_bytes)) if request.path_mtu_bytes else ()),
        *((plain_name("server", server),) if server is not None else ()),
    )


def parse_pingpong(text: str) -> PingPongOutput:
    """Read one or more outputs, of one end or both; never raises."""
    pasted = read_pasted(text)
    found, open_end = _results(pasted.lines)
    addresses = [read for line in pasted.lines if (read := _address(line))]
    return PingPongOutput(
        results=tuple(_distinct(found[:_MOST_RESULTS])),
        local=_first(addresses, "local"),
        remote=_first(addresses, "remote"),
        datagram=any(_UD_LOCAL.search(line) or "ibv_ud_pingpong" in line for line in pasted.lines),
        truncated=open_end or pasted.elided,
        invalid_pages=sum(1 for line in pasted.lines if _BAD_PAGE.search(line)),
    )


def _results(lines: Iterable[str]) -> tuple[list[PingPongResult], bool]:
    """Pair each bytes line with the iterations line after it; the flag tells of one without its other."""
    results: list[PingPongResult] = []
    addresses: dict[str, QpAddress] = {}
    volume: re.Match[str] | None = None
    odd = False
    for line in lines:
        if read := _address(line):
            addresses[read[0]] = read[1]
        elif match := _BYTES.search(line):
            odd, volume = odd or volume is not None, match
        elif (match := _ITERATIONS.search(line)) and volume is not None:
            results.append(_result(volume, match, addresses))
            volume, addresses = None, {}
        elif _BEGUN.search(line):
            odd = True
    return results, odd or volume is not None


def _result(volume: re.Match[str], count: re.Match[str], addresses: dict[str, QpAddress]) -> PingPongResult:
    sent, iterations = int(volume[1]), int(count[1])
    microseconds, megabits = Decimal(count[3]), Decimal(volume[3])
    return PingPongResult(
        transferred_bytes=sent,
        iterations=iterations,
        round_trip_seconds=microseconds / 1_000_000,
        throughput_bytes_per_second=megabits * 1_000_000 / BITS_PER_BYTE,
        local=addresses.get("local"),
        remote=addresses.get("remote"),
        consistent=_consistent(sent, iterations, microseconds, megabits),
    )


def _consistent(sent: int, iterations: int, microseconds: Decimal, megabits: Decimal) -> bool:
    """Bits over microseconds are Mbit/sec; both are printed with two decimals only, so the last digit is open."""
    if not (sent and iterations and microseconds > 0 and megabits > 0):
        return False
    half = Decimal("0.005")
    bits = sent * BITS_PER_BYTE
    least, most = bits / (iterations * (microseconds + half)), bits / (iterations * (microseconds - half))
    slack = half + Decimal("0.001") * megabits
    return least - slack <= megabits <= most + slack


def _distinct(results: Iterable[PingPongResult]) -> list[PingPongResult]:
    """Both ends of one run name each other; without addresses only equal numbers can say that it is one run."""
    distinct: list[PingPongResult] = []
    for result in results:
        if not any(_same_run(known, result) for known in distinct):
            distinct.append(result)
    return distinct


def _same_run(one: PingPongResult, other: PingPongResult) -> bool:
    if one.local and one.remote and other.local and other.remote:
        ends = (other.local, other.remote)
        return (one.local, one.remote) in (ends, ends[::-1])
    return one == other


def _address(line: str) -> tuple[str, QpAddress] | None:
    """The address of a line, if it is of these tools: they write commas, perftest does not."""
    return read_address(line) if ", QPN" in line else None


def _first(addresses: Iterable[tuple[str, QpAddress]], side: str) -> QpAddress | None:
    return next((address for name, address in addresses if name == side), None)
