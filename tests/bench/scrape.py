"""What a scrape costs: ours, prometheus_client's own handler with the same samples, and node_exporter as it is.

Ours and prometheus_client's render what they hold; node_exporter reads the machine at each scrape, and compresses anew.
"""

import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from deploy.ports import free_port
from tests.bench.figures import Figure
from tests.bench.http_get import get
from tests.bench.node_exporter import find_node_exporter
from tests.bench.process_cost import cpu_seconds
from tests.bench.server import Server, python, running

SMALL, LARGE = 1_000, 100_000
SCRAPES = {SMALL: 200, LARGE: 25}
CLIENT_SCRAPES = {SMALL: 50, LARGE: 3}
IDLE_SECONDS = 2.0
ENCODINGS = ("identity", "gzip")
OURS, CLIENT, NODE = "rdma-gate", "prometheus_client", "node_exporter"


@dataclass(frozen=True)
class Cost:
    """Medians of one program's scrapes: wall clock by encoding, and the program's CPU time a scrape, plain."""

    samples: int
    seconds: dict[str, float]
    cpu_seconds: float
    stall_seconds: float = 0.0
    idle_stall_seconds: float = 0.0
    first_gzip_seconds: float = 0.0

    @property
    def per_sample_seconds(self) -> float:
        """Wall clock of a plain scrape for each sample in it."""
        return self.seconds["identity"] / self.samples

    @property
    def cpu_per_sample_seconds(self) -> float:
        """The program's own CPU time for each sample."""
        return self.cpu_seconds / self.samples


def figures(folder: Path) -> Iterator[Figure]:
    """Yield the figures of scrapes; the programs run one after the other, never at once."""
    node = _node_exporter(folder)
    for count in (SMALL, LARGE):
        ours = _measure(_python_server("our_exporter", count), folder, SCRAPES[count], ours=True)
        client = _measure(_python_server("client_exporter", count), folder, CLIENT_SCRAPES[count])
        yield from _against_client(count, ours, client)
        if count == SMALL:
            yield from _against_node_exporter(ours, client, node)
    yield Figure("node_exporter's own samples", node.samples if node else 0, "samples", note=_absent(node))


def _against_client(count: int, ours: Cost, client: Cost) -> Iterator[Figure]:
    what = f"scrape of {count:,} samples"
    times = f"median of {SCRAPES[count]}, the peer's of {CLIENT_SCRAPES[count]}"
    for encoding in ENCODINGS:
        goal = 35.0 if (count, encoding) == (LARGE, "identity") else None
        value, peer = ours.seconds[encoding] * 1e3, client.seconds[encoding] * 1e3
        note = f"{times}; {CLIENT} {peer:.2f} ms"
        yield Figure(f"{what}, {encoding}", value, "ms", goal, peer, CLIENT, note=note)
    yield Figure(f"{what}, gzip, nothing kept", ours.first_gzip_seconds * 1e3, "ms", note="the first one after start")
    goal = 20.0 if count == LARGE else None
    note = f"ticks of 1 ms; {ours.idle_stall_seconds * 1e3:.1f} ms in {IDLE_SECONDS:g} s without any scrape"
    yield Figure(f"worst event-loop stall, {count:,} samples", ours.stall_seconds * 1e3, "ms", goal, note=note)
    yield Figure(f"CPU of a scrape of {count:,}, identity", ours.cpu_seconds * 1e3, "ms", note="our process's own")


def _against_node_exporter(ours: Cost, client: Cost, node: Cost | None) -> Iterator[Figure]:
    for name, cost in ((OURS, ours), (CLIENT, client)):
        yield Figure(
            f"per sample at {SMALL:,}, {name}", cost.per_sample_seconds * 1e6, "us",
            1.0 if name == OURS else None, node.per_sample_seconds * 1e6 if node else None, NODE,
            goal_is_ratio=True, note=_absent(node),
        )  # fmt: skip
        yield Figure(
            f"CPU per sample at {SMALL:,}, {name}", cost.cpu_per_sample_seconds * 1e6, "us",
            peer=node.cpu_per_sample_seconds * 1e6 if node else None, peer_name=NODE,
        )  # fmt: skip


def _absent(node: Cost | None) -> str:
    return "" if node else "not run: node_exporter is neither on PATH nor to be had from apt"


def _python_server(module: str, count: int) -> tuple[list[str], int]:
    port = free_port(0)
    return python(f"tests.bench.{module}", count, port), port


def _node_exporter(folder: Path) -> Cost | None:
    program = find_node_exporter()
    if program is None:
        return None
    port = free_port(0)
    command = [str(program), f"--web.listen-address=127.0.0.1:{port}"]
    return _measure((command, port), folder, SCRAPES[SMALL])


def _measure(command: tuple[list[str], int], folder: Path, times: int, *, ours: bool = False) -> Cost:
    argv, port = command
    with running(argv, port, log=folder / "server.log") as server:
        first = _timed(server, "gzip")
        idle = _idle_stall(server) if ours else 0.0
        before = cpu_seconds(server.pid)
        plain = [_timed(server, "identity") for _ in range(times)]
        cpu = (cpu_seconds(server.pid) - before) / times
        packed = [_timed(server, "gzip", changed=ours) for _ in range(times)]
        body = get(port, "/metrics")
        lines = sum(not line.startswith(b"#") for line in body.splitlines())
        medians = {"identity": statistics.median(plain), "gzip": statistics.median(packed)}
        return Cost(lines, medians, cpu, _stall(server, asked=ours), idle, first)


def _timed(server: Server, encoding: str, *, changed: bool = False) -> float:
    if changed:
        get(server.port, "/bench/change")
    began = time.perf_counter()
    get(server.port, "/metrics", encoding)
    return time.perf_counter() - began


def _idle_stall(server: Server) -> float:
    """What the machine alone does to the ticks: the stall that no scrape of ours has caused."""
    _stall(server, asked=True)
    time.sleep(IDLE_SECONDS)
    return _stall(server, asked=True)


def _stall(server: Server, *, asked: bool) -> float:
    return float(get(server.port, "/bench/stall")) if asked else 0.0
