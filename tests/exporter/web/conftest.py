"""A hand-made verdict and an application around it, for every test of the HTTP face."""

from dataclasses import dataclass

import pytest
from aiohttp.test_utils import TestClient, TestServer
from multidict import CIMultiDictProxy

from exporter import registry
from exporter.evidence import EvidenceStore
from exporter.ledger import Ledger
from exporter.metrics.blocks import BlockStore
from exporter.metrics.records import RecordMetrics
from exporter.metrics.scrape import Scrape
from exporter.view import (
    CellView,
    CheckView,
    DecisionView,
    EvidenceView,
    FindingView,
    GateView,
    NodeView,
    PathView,
    PoolView,
)
from exporter.web.app import make_app
from exporter.web.services import Services

NOW = 1_796_047_512.0  # 30/11/2026 14:05:12 GMT
CHECKS = tuple(CheckView(word, check.number, check.title) for word, check in registry.checks().items())
PORT_DOWN = FindingView(
    probe="access.ports",
    status="fail",
    reason="port_down",
    meaning="the port has no link",
    summary="mlx5_3/1: state DOWN, physical state Polling found, ACTIVE and LinkUp wanted",
    owner="network",
    received=NOW - 4,
    evidence=(
        EvidenceView("/sys/class/infiniband/mlx5_3/ports/1/state", "1: DOWN", "ab" * 32, 7),
        EvidenceView(
            "ibv_devinfo",
            "hca_id:\tmlx5_3\n\tport:\t1\n\t\tstate:\tPORT_DOWN (1)",
            "cd" * 32,
            4312,
            "ibv_devinfo -v -d mlx5_3",
            0,
        ),
    ),
)


@dataclass
class Clock:
    time: float = NOW

    def __call__(self) -> float:
        return self.time


def cells(**statuses: tuple[str, str]) -> tuple[CellView, ...]:
    found = []
    for check in CHECKS:
        status, why = statuses.get(check.word, ("pass", ""))
        findings = (PORT_DOWN,) if (check.word, status) == ("access", "failed") else ()
        found.append(CellView(check.word, status, why, NOW - 30, findings))
    return tuple(found)


def node(name: str, *, state: str = "reachable", note: str = "", **statuses: tuple[str, str]) -> NodeView:
    some = cells(**statuses)
    is_open = all(one.status in ("pass", "not_applicable", "accepted") for one in some)
    return NodeView(name, is_open, state, NOW - 2, some, note)


def closed_view() -> GateView:
    not_here = ("not_applicable", "no device plugin on this cluster, decision slurm-only")
    nodes = [node(f"gpu-{n:03}", visibility=not_here, resources=not_here) for n in range(1, 9)]
    nodes[2] = node(
        "gpu-003",
        visibility=not_here,
        resources=not_here,
        access=("failed", "mlx5_3/1: state DOWN, physical state Polling found, ACTIVE and LinkUp wanted"),
        connectivity=("blocked", "waits for check 2 on gpu-003"),
        transfers=("blocked", "waits for check 6"),
    )
    nodes[5] = node(
        "gpu-006",
        visibility=not_here,
        resources=not_here,
        runtime=("unknown", "memory_lock: 64 MiB limit found, registration not tried"),
        placement=("accepted", "decision numa-gpu-006 until 01/02/2027"),
        transfers=("stale", "driver changed from 24.10-1.1.4 to 25.01-0.6.0"),
    )
    nodes[7] = node(
        "gpu-008", state="silent", note="silent since 14:01:07", **{c.word: ("missing", "no report") for c in CHECKS}
    )
    paths = []
    for client in range(1, 9):
        for server in range(1, 9):
            if client != server:
                bad = {3: "blocked", 8: "missing"}.get(client) or {3: "blocked", 8: "missing"}.get(server) or "pass"
                bad = "failed" if (client, server) == (2, 5) else bad
                paths.append(PathView(f"gpu-{client:03}:mlx5_0", f"gpu-{server:03}:mlx5_0", bad, "44.8 GB/s"))
    return GateView(
        cluster="prod-eu-1",
        is_open=False,
        banner="closed: gpu-003 port_down, gpu-006 unknown runtime, gpu-008 silent",
        decided=NOW - 1,
        plan="plan 3f2c9e1 reviewed by ana on 02/11/2026",
        checks=CHECKS,
        pools=(PoolView("h100", False, 8, tuple(nodes)),),
        problems=(
            "gpu-003 access: mlx5_3/1: state DOWN, physical state Polling found, ACTIVE and LinkUp wanted (network)",
            "gpu-006 runtime: memory lock limit 64 MiB found, 64 GiB wanted (platform)",
            "gpu-008: silent since 14:01:07, a report within 10 s wanted (platform)",
        ),
        decisions=(
            DecisionView(
                "slurm-only",
                "not_applicable",
                "visibility, resources on every node",
                "Slurm cluster without Kubernetes",
                "ana",
                "bo",
                NOW + 86400 * 60,
            ),
            DecisionView(
                "numa-gpu-006",
                "accepted_exception",
                "placement.paths on gpu-006",
                "riser cable on order",
                "chris",
                "ana",
                NOW + 86400 * 9,
                "job limited to 7 GPUs",
            ),
        ),
        refused=("old-exception: expired 01/11/2026 09:00:00 GMT, a date to come wanted",),
        paths=tuple(paths),
        version="0.1.0",
    )


def open_view() -> GateView:
    nodes = tuple(node(name) for name in ("node-a", "node-b"))
    return GateView(
        cluster="lab",
        is_open=True,
        banner="open",
        decided=NOW,
        plan="plan 77aa01c reviewed by ana on 29/11/2026",
        checks=CHECKS,
        pools=(PoolView("lab", True, 2, nodes),),
        version="0.1.0",
    )


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def ledger(clock: Clock) -> Ledger:
    return Ledger(None, EvidenceStore(None), clock)


@pytest.fixture
def scrape(ledger: Ledger) -> Scrape:
    store = BlockStore()
    return Scrape("node-a", store, RecordMetrics(store, ledger, "node-a", {}))


@pytest.fixture
def closed() -> GateView:
    return closed_view()


@pytest.fixture
def opened() -> GateView:
    return open_view()


@pytest.fixture
def services(ledger: Ledger, scrape: Scrape) -> Services:
    return Services("node-a", ledger, scrape)


@pytest.fixture
def ask():
    """Serve an application on 127.0.0.1 and ask it once: status, headers and body."""

    async def once(services: Services, method: str, path: str, **options) -> tuple[int, CIMultiDictProxy[str], bytes]:
        async with (
            TestClient(TestServer(make_app(services)), auto_decompress=False) as client,
            client.request(method, path, allow_redirects=False, **options) as response,
        ):
            return response.status, response.headers, await response.read()

    return once
