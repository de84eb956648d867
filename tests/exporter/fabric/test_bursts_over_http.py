"""A gate runs a burst on two nodes over real HTTP: each node's guard admits its part, and each ends it by itself."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import pytest

from exporter.assignment import Assignment, Budget, Claim, Member
from exporter.demands import PortLoad
from exporter.evidence import EvidenceStore
from exporter.fabric.guarded import GuardedGroupEndpoint
from exporter.fabric.node_client import Address, NodeClient
from exporter.fabric.remote import RemoteGroupEndpoint, RemoteSlots
from exporter.fabric.running_bursts import RunningBursts, known_addresses
from exporter.fabric.running_tests import RunningTests
from exporter.guard import Guard
from exporter.keys import Verifier, node_key
from exporter.ledger import Ledger
from exporter.metrics.blocks import BlockStore
from exporter.metrics.records import RecordMetrics
from exporter.metrics.scrape import Scrape
from exporter.slots import Lease
from exporter.web.app import make_app
from exporter.web.services import Services
from probes import ProbeError
from probes._burst_node import BurstNode
from probes._endpoint import Ended, Refused, Unreachable
from probes._group import BurstRequest, BurstWay, Collective
from probes._host import Host
from probes._local_group import LocalGroupEndpoint
from probes.readers.gpu import Gpu, GpuReport

FAKE_RANK = Path(__file__).parents[2] / "fixtures" / "gpu_libraries" / "fake_rank.py"
MASTER = b"a master key of the cluster"
GPUS = tuple(Gpu(f"0000:{n:02x}:00.0", uuid=f"GPU-{n}", processes=0, utilisation=0.0) for n in range(2))
BURST = BurstRequest(
    BurstWay.NCCL4PY, Collective.ALL_REDUCE, 4000, 3, 1, 4, 0, 2, 300.0, ("node-a", "node-b"), cpus_per_rank=1
)
CROSSING_BYTES = 5 * 6000
GATE = Claim("g1", 3)
LEASE = Lease("lease1", GATE, "gate g1 for collectives", 600.0)


class ANode:
    """One node: a real guard, real processes, the real application; ``load`` is what its port carries for others."""

    def __init__(self, name: str, clock: Any, folder: Path) -> None:
        members = tuple(Member(one, "http://127.0.0.1:9842") for one in ("node-a", "node-b"))
        self.assignment = Assignment(
            "lab", name, "pool", "d", reviewed=True, term=3, members=members, budget=Budget(tests_enabled=True)
        )
        self.load = PortLoad(0.0, 50e9)
        self.behaviour = "ok"
        self.host = Host(folder, environment={"PATH": "/usr/bin:/bin"})
        self.guard = Guard(lambda: self.assignment, {}, clock, measure_load=self._one_load)
        self.tests = RunningTests(self.guard, lambda _hca: None)
        self.bursts = RunningBursts(self.guard, lambda: self.assignment, self._endpoint, self._loads)
        self.folder = folder
        self.clock = clock

    def services(self) -> Services:
        ledger = Ledger(None, EvidenceStore(None), self.clock)
        store = BlockStore()
        scrape = Scrape("node", store, RecordMetrics(store, ledger, "node", {}))
        verifier = Verifier(node_key(MASTER, self.assignment.node), self.clock)
        return Services(self.assignment.node, ledger, scrape, verifier, tests=self.tests, bursts=self.bursts)

    def _endpoint(self) -> LocalGroupEndpoint:
        async def gpus() -> GpuReport:
            return GpuReport((), GPUS, ("nvml",))

        argv = (str(FAKE_RANK), self.behaviour)
        return LocalGroupEndpoint(
            BurstNode(self.assignment.node, self.host, gpus, directory=self.folder, rank_argv=argv)
        )

    async def _one_load(self, _request: Any) -> PortLoad:
        return self.load

    async def _loads(self) -> dict[str, PortLoad]:
        return {"mlx5_0": self.load}


@dataclass
class Fabric:
    nodes: dict[str, ANode]
    ends: dict[str, RemoteGroupEndpoint]
    slots: dict[str, RemoteSlots]
    addresses: dict[str, str]

    async def lease(self) -> None:
        for one in self.slots.values():
            assert await one.ask(LEASE) == ""


@pytest.fixture
async def fabric(
    clock: Any, serve: Callable[..., Awaitable[str]], session: aiohttp.ClientSession, tmp_path: Path
) -> AsyncIterator[Fabric]:
    fabric = Fabric({}, {}, {}, {})
    for name in ("node-a", "node-b"):
        (tmp_path / name).mkdir()
        node = fabric.nodes[name] = ANode(name, clock, tmp_path / name)
        fabric.addresses[name] = await serve(make_app(node.services()))
        client = NodeClient(session, Address(name, fabric.addresses[name], node_key(MASTER, name)), clock)
        fabric.ends[name] = RemoteGroupEndpoint(client, "lease1")
        fabric.slots[name] = RemoteSlots(client)
    yield fabric
    for node in fabric.nodes.values():
        node.host.close()


async def started(fabric: Fabric) -> None:
    first, second = fabric.ends.values()
    ready = await first.start(BURST)
    assert await second.start(replace(BURST, first_rank=2, unique_id=ready.unique_id)) == ready


async def test_both_nodes_run_their_ranks_and_count_what_crosses_between_them(fabric: Fabric):
    await fabric.lease()
    await started(fabric)
    outcomes = [await end.wait() for end in fabric.ends.values()]
    ranks = [one for outcome in outcomes for one in outcome.ranks]
    assert [(one.rank, one.ended, one.exit_status, len(one.seconds)) for one in ranks] == [
        (rank, Ended.EXIT, 0, 3) for rank in range(4)
    ]
    assert [(outcome.node, outcome.detail) for outcome in outcomes] == [("node-a", ""), ("node-b", "")]
    for node in fabric.nodes.values():
        assert node.guard.test_bytes == {"sent": CROSSING_BYTES, "received": CROSSING_BYTES}
        assert node.guard.tests_outstanding == 0


async def test_without_a_slot_nothing_starts(fabric: Fabric):
    with pytest.raises(Refused, match="a test without a slot of this node") as raised:
        await fabric.ends["node-a"].start(BURST)
    assert raised.value.reason == "no_lease"


async def test_one_burst_at_a_time_in_a_slot(fabric: Fabric):
    await fabric.lease()
    fabric.nodes["node-a"].behaviour = "hang"
    await fabric.ends["node-a"].start(BURST)
    with pytest.raises(Refused) as raised:
        await fabric.nodes["node-a"].bursts.start(BURST, "lease1")
    assert raised.value.reason == "node_busy"
    await fabric.ends["node-a"].stop()


async def test_pausing_ends_the_ranks_and_says_so(fabric: Fabric):
    await fabric.lease()
    node = fabric.nodes["node-a"]
    node.behaviour = "deaf"
    supervisor = asyncio.create_task(node.bursts.supervise(lambda _seconds: asyncio.sleep(0.01)))
    await fabric.ends["node-a"].start(BURST)
    node.guard.pause("ana")
    outcome = await fabric.ends["node-a"].wait()
    assert (outcome.detail, [one.ended for one in outcome.ranks]) == ("paused", [Ended.STOPPED] * 2)
    supervisor.cancel()
    await asyncio.gather(supervisor, return_exceptions=True)
    with pytest.raises(Refused, match="testing paused by ana"):
        await fabric.ends["node-a"].start(BURST)


async def test_pausing_ends_ranks_that_have_not_met_yet(fabric: Fabric, tmp_path: Path):
    await fabric.lease()
    node = fabric.nodes["node-a"]
    node.behaviour = "no_id"
    starting = asyncio.create_task(fabric.ends["node-a"].start(BURST))
    while not list((tmp_path / "node-a").glob("burst-*/nccl-1.log")):
        await asyncio.wait({starting}, timeout=0.02)
    node.guard.pause("ana")
    with pytest.raises(Refused) as raised:
        await starting
    assert (raised.value.reason, node.guard.tests_outstanding) == ("paused", 0)
    assert list((tmp_path / "node-a").glob("burst-*")) == []


@pytest.mark.parametrize("reason", ["gate_lost", "lease_over"])
async def test_ranks_end_by_themselves_without_a_gate_or_a_lease(fabric: Fabric, clock: Any, reason: str):
    await fabric.lease()
    node = fabric.nodes["node-a"]
    node.behaviour = "hang"
    name = (await node.bursts.start(BURST, "lease1")).id
    if reason == "gate_lost":
        clock.advance(11)
    else:
        node.guard.slots.give_back("lease1")
    supervisor = asyncio.create_task(node.bursts.supervise(lambda _seconds: asyncio.sleep(0.01)))
    outcome = await asyncio.shield(node.bursts.running._entries[name].task)
    assert outcome.detail == reason
    supervisor.cancel()
    await asyncio.gather(supervisor, return_exceptions=True)
    assert node.guard.tests_outstanding == 0


async def test_a_node_that_ends_takes_its_ranks_along(fabric: Fabric):
    await fabric.lease()
    node = fabric.nodes["node-a"]
    node.behaviour = "hang"
    watching = asyncio.Event()

    async def sleep(_seconds: float) -> None:
        watching.set()
        await asyncio.Event().wait()

    supervisor = asyncio.create_task(node.bursts.supervise(sleep))
    await watching.wait()
    name = (await node.bursts.start(BURST, "lease1")).id
    supervisor.cancel()
    await asyncio.gather(supervisor, return_exceptions=True)
    assert (await node.bursts.wait(name, 60)).detail == "shutdown"


async def test_a_dead_rank_is_told_of_by_its_node_and_the_other_node_can_be_stopped(fabric: Fabric):
    await fabric.lease()
    fabric.nodes["node-a"].behaviour, fabric.nodes["node-b"].behaviour = "hang", "die:3"
    await started(fabric)
    outcome = await fabric.ends["node-b"].wait()
    assert outcome.ranks[1].detail.startswith("rank_died: rank 3 ended with signal SIGKILL")
    await fabric.ends["node-a"].stop()
    outcome = await fabric.ends["node-a"].wait()
    assert [one.ended for one in outcome.ranks] == [Ended.STOPPED] * 2


async def test_a_unique_id_that_leads_elsewhere_is_refused_by_the_node(fabric: Fabric):
    await fabric.lease()
    foreign = "5a" * 8 + "0200a8ca" + "c6336401" + "00" * 112
    with pytest.raises(Refused) as raised:
        await fabric.ends["node-b"].start(replace(BURST, first_rank=2, unique_id=foreign))
    assert (raised.value.reason, raised.value.summary) == (
        "foreign_unique_id",
        "node-b: unique id with address 198.51.100.1 found, a member's wanted (127.0.0.1); "
        "NCCL_SOCKET_IFNAME chooses the interface",
    )
    assert fabric.nodes["node-b"].guard.deferrals == {"foreign_unique_id": 1}


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"message_bytes": 2**36}, "out_of_bounds"),
        ({"environment": {"LD_PRELOAD": "x.so"}}, "out_of_bounds"),
        ({"members": ("node-a", "stranger")}, "peer_unplanned"),
        ({"message_bytes": 2**30}, "budget"),
        ({"ranks": 6}, "out_of_bounds"),
    ],
)
async def test_what_the_guard_refuses_arrives_as_a_refusal(fabric: Fabric, changes: dict, reason: str):
    await fabric.lease()
    with pytest.raises(Refused) as raised:
        await fabric.ends["node-a"].start(replace(BURST, **changes))
    assert raised.value.reason == reason
    assert fabric.nodes["node-a"].guard.tests_outstanding == 0


async def test_busy_ports_defer_a_burst_between_nodes_and_not_one_within_a_node(fabric: Fabric):
    await fabric.lease()
    fabric.nodes["node-a"].load = PortLoad(25e9, 50e9)
    with pytest.raises(Refused, match=r"mlx5_0: 50\.0% of the port's rate in use by others"):
        await fabric.ends["node-a"].start(BURST)
    await fabric.ends["node-a"].start(replace(BURST, ranks=2, members=("node-a",)))
    assert (await fabric.ends["node-a"].wait()).detail == ""
    assert fabric.nodes["node-a"].guard.test_bytes == {}


async def test_ranks_that_cannot_start_give_their_reason_and_the_slot_back(fabric: Fabric):
    await fabric.lease()
    fabric.nodes["node-a"].behaviour = "no_gpu"
    with pytest.raises(ProbeError) as raised:
        await fabric.ends["node-a"].start(BURST)
    assert raised.value.reason == "gpu_missing"
    assert fabric.nodes["node-a"].guard.tests_outstanding == 0


async def test_only_the_key_of_that_node_opens_its_door(fabric: Fabric, session: aiohttp.ClientSession, clock: Any):
    await fabric.lease()
    for key in (b"", node_key(MASTER, "node-b")):
        client = NodeClient(session, Address("node-a", fabric.addresses["node-a"], key), clock)
        with pytest.raises(Unreachable, match="HTTP status 401 found"):
            await RemoteGroupEndpoint(client, "lease1").start(BURST)
    assert fabric.nodes["node-a"].guard.tests_outstanding == 0


@pytest.mark.parametrize("spoil", [{"way": "mpirun"}, {"collective": "sh"}, {"message_bytes": "1"}, {"unique_id": 5}])
async def test_a_request_that_is_no_burst_is_a_bad_request(
    fabric: Fabric, session: aiohttp.ClientSession, clock: Any, spoil: dict
):
    request = msgspec.to_builtins(BURST) | spoil
    client = NodeClient(session, Address("a", fabric.addresses["node-a"], node_key(MASTER, "node-a")), clock)
    body = msgspec.json.encode({"lease": "lease1", "request": request})
    answer = await client.ask("POST", "/v1/bursts", body, limit_seconds=30)
    assert (answer.status, msgspec.json.decode(answer.body)["reason"]) == (400, "bad_request")


async def test_an_unknown_burst_is_not_found(fabric: Fabric):
    end = fabric.ends["node-a"]
    end._run.id = "feedfeed"
    with pytest.raises(Unreachable, match="HTTP status 404 found, 200 wanted"):
        await end.wait()


async def test_a_gate_in_the_same_process_goes_through_the_same_guard(fabric: Fabric):
    await fabric.lease()
    node = fabric.nodes["node-a"]
    end = GuardedGroupEndpoint("node-a", node.bursts, "lease1")
    with pytest.raises(Unreachable, match="no test started, one needed"):
        await end.wait()
    await end.start(BURST)
    assert [one.rank for one in (await end.wait()).ranks] == [0, 1]
    await end.stop()


async def test_a_members_addresses_are_found_under_its_names_too():
    members = (Member("a", "http://localhost:1", {"": "192.0.2.7"}), Member("b", "http://[2001:db8::1]:1"), Member("c"))
    found = await known_addresses(members)
    assert {"192.0.2.7", "2001:db8::1"} <= found
    assert found & {"127.0.0.1", "::1"}
