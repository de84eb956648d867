"""From what both ends left, the one thing that keeps a test from passing, or nothing.

In this order: ends that could not start, outputs cut short, how the tools ended, whether each end spoke with the other
over the device and GID that were asked for, whether the result is the one asked for. Counters come after that.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from probes import End, Status
from probes._endpoint import Buffer, Outcome, Tool
from probes._path import Exchange
from probes._path_ended import judge_ended
from probes._path_problem import Ends, Problem, fail, unknown
from probes._path_reading import Reading, read_outcome
from probes._path_reasons import status_of
from probes._path_report import named
from probes.tools.failures import classify

TITLES = {
    Tool.SEND_BW: "Send BW",
    Tool.WRITE_BW: "RDMA_Write BW",
    Tool.READ_BW: "RDMA_Read BW",
    Tool.WRITE_LAT: "RDMA_Write Latency",
    Tool.SEND_LAT: "Send Latency",
}


@dataclass(frozen=True, slots=True)
class Seen:
    """One end: who it is, what it left, and what it printed."""

    end: End
    outcome: Outcome
    reading: Reading


def judge_exchange(exchange: Exchange, ends: Ends) -> Problem | None:
    """Return the first problem of the test itself; None when it ran clean from end to end."""
    problem = next(_problems(exchange, ends), None)
    if problem and problem.status is Status.FAIL and (versions := _versions_differ(exchange)):
        return unknown("version_mismatch", f"{versions}, the same version wanted; then: {problem.sentence}")
    return problem


def _problems(exchange: Exchange, ends: Ends) -> Iterator[Problem]:
    if trouble := exchange.trouble:
        yield Problem(status_of(trouble.reason), trouble.reason, trouble.summary, (trouble.end,))
    yield from _truncated(exchange, ends)
    readings = [read_outcome(exchange.request, outcome) for outcome in (exchange.client, exchange.server)]
    yield from judge_ended(exchange, ends, *readings)
    if exchange.client is None or exchange.server is None:
        yield unknown("tool_failed", "one end left no outcome, both wanted")
        return
    seen = Seen(ends.client, exchange.client, readings[0]), Seen(ends.server, exchange.server, readings[1])
    yield from _result_missing(*seen)
    for one in seen:
        yield from _wrong_port(one)
        yield from _wrong_buffer(one, exchange.request.buffer)
    yield from _foreign(*seen)
    yield from _wrong_result(exchange, seen[0])


def _truncated(exchange: Exchange, ends: Ends) -> Iterator[Problem]:
    for end, outcome in ((ends.client, exchange.client), (ends.server, exchange.server)):
        if outcome and outcome.truncated:
            yield unknown("output_truncated", f"{named(end)} printed more than is kept, a whole output wanted")


def _result_missing(client: Seen, server: Seen) -> Iterator[Problem]:
    reading = client.reading
    if reading.cut or reading.rows > 1:
        yield unknown("unparsable", f"{reading.rows} whole results and cut ones printed by the client, one wanted")
    if not reading.rows and client.outcome.stdout.strip() and not reading.said:
        yield unknown("unparsable", "output that is not the tool's printed by the client, a result wanted")
    if not reading.rows:
        yield fail("no_result", "exit status 0 without a result, a result row wanted")
    if not reading.exchanged or not server.reading.exchanged:
        yield unknown("unparsable", "an end printed no local and remote address, both wanted at both")


def _wrong_port(one: Seen) -> Iterator[Problem]:
    ready, reading = one.outcome.ready, one.reading
    asked = _argument(one.outcome.argv, "-d")
    if asked and reading.device and reading.device != asked:
        yield fail("wrong_device", f"{named(one.end)} used {reading.device}, {asked} wanted", one.end)
    if ready is None or not ready.gid:
        return
    gids = {address.gid for address in reading.local}
    if gids != {ready.gid}:
        found = ", ".join(sorted(gids)) or "none"
        yield fail("wrong_gid", f"{named(one.end)} used GID {found}, {ready.gid} wanted", one.end)
    if reading.gid_index not in (None, ready.gid_index):
        sentence = f"{named(one.end)} used GID index {reading.gid_index}, {ready.gid_index} wanted"
        yield fail("wrong_gid", sentence, one.end)


def _wrong_buffer(one: Seen, asked: Buffer) -> Iterator[Problem]:
    """A test of GPU memory counts only where the tool says that it was device memory, registered as asked for."""
    found = one.reading.gpu_buffer
    if asked is Buffer.HOST:
        return
    if not found.device_memory:
        said = repr(found.line) if found.line else "no line about it"
        yield unknown("buffer_unproven", f"{named(one.end)} printed {said}, device memory wanted", one.end)
    elif found.dmabuf != (asked is Buffer.CUDA_DMABUF):
        how = "DMA-BUF" if found.dmabuf else "no DMA-BUF"
        yield unknown("buffer_unproven", f"{named(one.end)} registered with {how}, {asked} wanted", one.end)


def _foreign(client: Seen, server: Seen) -> Iterator[Problem]:
    if server.reading.remote != client.reading.local:
        yield unknown("foreign_peer", "the server spoke with another queue pair than the client's, this client wanted")
    if client.reading.remote != server.reading.local:
        yield unknown("foreign_peer", "the client spoke with another queue pair than the server's, this server wanted")


def _wrong_result(exchange: Exchange, client: Seen) -> Iterator[Problem]:
    request, reading = exchange.request, client.reading
    if reading.test not in (title := TITLES.get(request.tool, ""), ""):
        yield unknown("not_as_requested", f"a result of {reading.test!r} printed, of {title!r} wanted")
    said = classify(client.outcome.stdout, client.outcome.stderr)
    if said and said.reason == "clock_unreadable":
        # On a busy processor the tool may not learn its clock's rate, ends well, and prints a rate of 0.
        yield unknown(said.reason, f"{named(client.end)}: {said.summary}, a measured clock wanted", client.end)
    if reading.problem:
        yield unknown("unparsable", f"a result that is {reading.problem}, a plain number wanted")
    if reading.value is None:
        yield unknown("unparsable", "a result without its number, a number wanted")
    elif reading.value == 0:
        yield fail("zero_result", "a result of 0, more wanted")
    elif reading.value < 0:
        yield unknown("unparsable", f"a result of {reading.value}, more than 0 wanted")
    # A bandwidth row counts the iterations of all queue pairs together.
    wanted = request.message_bytes, request.iterations * request.queue_pairs
    if (reading.message_bytes, reading.iterations) != wanted:
        found = f"{reading.iterations} messages of {reading.message_bytes} bytes"
        yield unknown("not_as_requested", f"{found} run, {wanted[1]} of {wanted[0]} wanted")


def _versions_differ(exchange: Exchange) -> str:
    client, server = exchange.client, exchange.server
    if client is None or server is None or not (client.tool_version and server.tool_version):
        return ""
    if client.tool_version == server.tool_version:
        return ""
    return f"version {client.tool_version} at the client and {server.tool_version} at the server"


def _argument(argv: tuple[str, ...], flag: str) -> str:
    return argv[argv.index(flag) + 1] if flag in argv[:-1] else ""
