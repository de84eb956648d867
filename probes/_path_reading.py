"""One end's printed output as a path test needs it, whichever tool it was; None and empty stand for "not printed"."""

from dataclasses import dataclass, replace
from decimal import Decimal

from probes._endpoint import Outcome, TestRequest, Tool
from probes.tools.perftest import BandwidthRow, LatencyRow, PerftestResult, parse_perftest
from probes.tools.perftest_gpu import UNTOLD, GpuBuffer, read_gpu_buffer
from probes.tools.pingpong import parse_pingpong
from probes.tools.qp_address import QpAddress


@dataclass(frozen=True, slots=True)
class Reading:
    """``rows`` counts whole result rows; ``problem`` names what is wrong with the only one.

    ``value`` is the row's own number: average bytes per second, or seconds per round trip (ping-pong) or half of one
    (latency). ``samples_seconds`` are the raw latencies. ``test`` is perftest's title; ``said`` is whether the tool
    printed anything of its own. ``gpu_buffer`` is what it said of GPU memory.
    """

    said: bool = False
    test: str = ""
    device: str = ""
    gid_index: int | None = None
    mtu_bytes: int | None = None
    local: frozenset[QpAddress] = frozenset()
    remote: frozenset[QpAddress] = frozenset()
    rows: int = 0
    cut: bool = False
    problem: str = ""
    message_bytes: int | None = None
    iterations: int | None = None
    value: Decimal | None = None
    samples_seconds: tuple[Decimal, ...] = ()
    gpu_buffer: GpuBuffer = UNTOLD

    @property
    def exchanged(self) -> bool:
        """Whether this end had told its address and had heard the other's."""
        return bool(self.local and self.remote)


def read_outcome(request: TestRequest, outcome: Outcome | None) -> Reading:
    """Read what one end printed; nothing is judged. A missing end has said nothing."""
    if outcome is None:
        return Reading()
    if outcome.truncated:
        # A flood takes seconds to parse, and what is missing of it could be anything.
        return Reading(said=True, cut=True)
    if request.tool is Tool.RC_PINGPONG:
        return _read_pingpong(outcome)
    output = parse_perftest(outcome.stdout)
    if len(output.results) != 1:
        return Reading(said=bool(output.results), cut=len(output.results) > 1)
    buffer = read_gpu_buffer(output.gpu_lines)
    return replace(_read_perftest(output.results[0], cut=output.truncated), gpu_buffer=buffer)


def _read_pingpong(outcome: Outcome) -> Reading:
    output = parse_pingpong(outcome.stdout)
    result = output.results[0] if output.results else None
    return Reading(
        said=bool(output.local or output.results),
        local=frozenset(filter(None, [output.local])),
        remote=frozenset(filter(None, [output.remote])),
        rows=len(output.results),
        cut=output.truncated,
        problem="inconsistent" if result and not result.consistent else "",
        # The tool counts both directions.
        message_bytes=result.transferred_bytes // (2 * max(1, result.iterations)) if result else None,
        iterations=result.iterations if result else None,
        value=result.round_trip_seconds if result else None,
    )


def _read_perftest(result: PerftestResult, *, cut: bool) -> Reading:
    row = result.rows[0] if result.rows else None
    return Reading(
        said=True,
        test=result.test,
        device=result.device,
        gid_index=result.gid_index,
        mtu_bytes=result.mtu_bytes,
        local=frozenset(result.local),
        remote=frozenset(result.remote),
        rows=len(result.rows),
        cut=cut,
        problem=", ".join(row.problems) if row else "",
        message_bytes=row.message_bytes if row else None,
        iterations=row.iterations if row else None,
        value=_value(row) if row else None,
        samples_seconds=result.samples_seconds,
    )


def _value(row: BandwidthRow | LatencyRow) -> Decimal | None:
    return row.average_bytes_per_second if isinstance(row, BandwidthRow) else row.typical_seconds
