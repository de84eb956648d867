"""The planned tests of one pair of nodes, now: through the nodes' own endpoints and guards, as the gate would."""

import asyncio
import getpass
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import aiohttp
import msgspec

from exporter import registry
from exporter.assignment import Claim, ProbeSpec
from exporter.clock import SystemClock
from exporter.evidence import EvidenceStore
from exporter.fabric.expected import PathEnd
from exporter.fabric.held import Wanted, held
from exporter.fabric.node_client import Address, NodeClient
from exporter.fabric.planned_paths import ends_of
from exporter.fabric.remote import RemoteEndpoint, RemoteSlots
from exporter.fabric.runs import run_path
from exporter.fabric.wire import error_of
from exporter.keys import node_key
from exporter.ledger import Ledger
from exporter.plan import Plan, Pool
from exporter.plan.assignments import assignment_for
from exporter.plan.membership import pool_of
from exporter.program.keys import read_keys
from exporter.program.node import run_context
from exporter.settings import KnownMember, Settings
from probes import Run
from probes._endpoint import Path, Unreachable

BUSY_LIMIT_SECONDS = 120.0
BUSY_AGAIN_SECONDS = 1.0

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class PathJob:
    """One planned test on one ordered pair of HCAs."""

    spec: ProbeSpec
    client: PathEnd
    server: PathEnd

    def __str__(self) -> str:
        return f"{self.spec.id} {self.client}>{self.server}"


def path_jobs(plan: Plan, settings: Settings, client: str, server: str) -> list[PathJob]:
    """Return what ``check --path`` runs, both directions, rail by rail. ValueError for nodes that are no pair."""
    pools = {name: pool_of(plan, name, settings.members) for name in (client, server)}
    for name, pool in pools.items():
        if pool is None or name not in {member.name for member in settings.members}:
            raise ValueError(f"{name}: not a node of the plan and a member of the settings, one wanted")
    if client == server or pools[client] != pools[server]:
        raise ValueError(f"{client} and {server}: two nodes of one pool wanted")
    pool = pools[client]
    assert pool is not None
    return [job for spec in pool.tests for job in _jobs(plan, pool, spec, settings, (client, server))]


def run_jobs(plan: Plan, settings: Settings, jobs: Sequence[PathJob], say: Say) -> list[Run]:
    """Hand both nodes their assignment and run the jobs one after the other; ``say`` hears of the progress."""
    return asyncio.run(_run_jobs(plan, settings, jobs, say))


def _jobs(plan: Plan, pool: Pool, spec: ProbeSpec, settings: Settings, pair: tuple[str, str]) -> Iterator[PathJob]:
    ends = [end for end in ends_of(plan, pool, spec, settings.members, {}) if end.node in pair]
    for client in ends:
        for server in ends:
            if client.node != server.node and client.rail == server.rail:
                yield PathJob(spec, client, server)


async def _run_jobs(plan: Plan, settings: Settings, jobs: Sequence[PathJob], say: Say) -> list[Run]:
    master = read_keys(settings).master
    names = {end.node for job in jobs for end in (job.client, job.server)}
    members = [member for member in settings.members if member.name in names]
    async with aiohttp.ClientSession() as session:
        clients = {one.name: _client(session, one, master) for one in members}
        for name, client in clients.items():
            await _assign(client, plan, settings, name)
        ledger = Ledger(None, EvidenceStore(None), time.time)
        return [await _run(job, clients, settings, ledger, say) for job in jobs]


def _client(session: aiohttp.ClientSession, member: KnownMember, master: bytes) -> NodeClient:
    key = node_key(master, member.name) if master else b""
    return NodeClient(session, Address(member.name, member.url, key), time.time)


async def _assign(client: NodeClient, plan: Plan, settings: Settings, name: str) -> None:
    body = msgspec.json.encode(assignment_for(plan, name, settings.members, term=0))
    answer = await client.ask("POST", "/v1/assignment", body, limit_seconds=10.0)
    if answer.status not in (200, 204):
        error = error_of(answer.status, answer.body, name)
        raise error if isinstance(error, Unreachable) else Unreachable(str(error))


async def _run(job: PathJob, clients: dict[str, NodeClient], settings: Settings, ledger: Ledger, say: Say) -> Run:
    wanted = _slots(job, clients, settings, say)
    client, server = (RemoteEndpoint(clients[end.node], end.hca, wanted.id) for end in (job.client, job.server))
    path = Path(client, server, rail=job.client.rail)
    context = replace(run_context(settings), node=job.client.node)
    deadline = time.monotonic() + BUSY_LIMIT_SECONDS
    while True:
        say(str(job))
        probe, clock = registry.build(job.spec), SystemClock().now
        run = await run_path(probe, path, job.spec, context, clock=clock, slots=held(wanted))
        if run.outcome != "deferred":
            return ledger.put(run, targets=job.spec.targets).run
        if run.findings[0].reason != "port_busy" or time.monotonic() > deadline:
            return run
        say(f"{job}: waiting, {run.findings[0].summary}")
        await asyncio.sleep(BUSY_AGAIN_SECONDS)


def _slots(job: PathJob, clients: dict[str, NodeClient], settings: Settings, say: Say) -> Wanted:
    return Wanted(
        tuple(RemoteSlots(clients[node]) for node in {job.client.node, job.server.node}),
        Claim(),
        f"{_person()} on {settings.node} for {job}",
        job.spec.limit_seconds,
        wait_seconds=BUSY_LIMIT_SECONDS,
        waiting=lambda held_by: say(f"{job}: waiting, {held_by}"),
    )


def _person() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        # A container may run as a user that no file names.
        return f"user {os.getuid()}"
