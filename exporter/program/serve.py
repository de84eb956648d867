"""``rdma-gate serve``: one event loop, its roles and its HTTP face, until the first SIGTERM."""

import asyncio
import fcntl
import logging
import signal
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from aiohttp import web

from exporter import registry
from exporter.clock import SystemClock
from exporter.evidence import EvidenceStore
from exporter.keys import Verifier
from exporter.ledger import Ledger
from exporter.metrics.blocks import BlockStore
from exporter.metrics.own import OwnCost
from exporter.metrics.records import RecordMetrics
from exporter.metrics.scrape import Scrape
from exporter.program.keys import Keys, read_keys
from exporter.program.loop_first import put_loop_first
from exporter.program.node import NodeRole
from exporter.saving import save, save_forever
from exporter.settings import Settings, SettingsError
from exporter.web.admission import check_listen
from exporter.web.app import make_app
from exporter.web.doors import IDLE_SECONDS, Doors
from exporter.web.services import Services

if TYPE_CHECKING:
    from exporter.program.gate import GateRole

SHUTDOWN_SECONDS = 0.3

_log = logging.getLogger(__name__)


async def serve(
    settings: Settings, environment: Mapping[str, str], reread: Callable[[], Settings] | None = None
) -> None:
    """Serve until SIGTERM or SIGINT. Raises SettingsError where the settings cannot be used.

    ``reread`` returns the settings as their file has them now; None where there is no file.
    """
    keys = read_keys(settings)
    _check_listen(settings, keys)
    with _lock(settings.state_dir):
        clock = SystemClock()
        ledger = Ledger(settings.state_dir / "ledger.json", EvidenceStore(settings.state_dir / "evidence"), clock.now)
        program = Program(settings, ledger, clock, keys, environment, reread=reread)
        async with _listening(program, settings):
            await program.run()


class Program:
    """The roles of one process and what they share."""

    def __init__(
        self,
        settings: Settings,
        ledger: Ledger,
        clock: SystemClock,
        keys: Keys,
        environment: Mapping[str, str],
        *,
        reread: Callable[[], Settings] | None = None,
    ) -> None:
        self._reread = reread
        self._environment = environment
        self._settings = settings
        self._ledger = ledger
        self._clock = clock
        self._keys = keys
        store = BlockStore()
        self.node = NodeRole(settings, ledger, clock, environment) if "node" in settings.roles else None
        self.gate = self._make_gate(store) if "gate" in settings.roles else None
        records = RecordMetrics(store, ledger, settings.node, registry.probes())
        self._scrape = Scrape(settings.node, store, records, pool=self._pool, cost=self._cost)

    def services(self) -> Services:
        """Return what the HTTP face needs."""
        node, gate = self.node, self.gate
        return Services(
            node=self._settings.node,
            ledger=self._ledger,
            scrape=self._scrape,
            verifier=Verifier(self._keys.own, self._clock.now) if self._keys.own else None,
            tests=node.tests if node else None,
            bursts=node.bursts if node else None,
            assign=node.assign if node else None,
            pause=node.pause if node else gate.pause if gate else None,
            view=(lambda: gate.view) if gate else None,
            paths=(lambda: gate.verdict.paths) if gate else tuple,
            explain=gate.explain if gate else None,
            snapshot=gate.snapshot if gate else None,
        )

    async def run(self) -> None:
        """Run the roles until a signal asks for the end; SIGHUP reads plan, decisions and members again."""
        ended = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, ended.set)
        loop.add_signal_handler(signal.SIGHUP, self._reload)
        try:
            async with asyncio.TaskGroup() as tasks:
                running = [
                    tasks.create_task(role.run(), name=name)
                    for name, role in (("node role", self.node), ("gate role", self.gate))
                    if role is not None
                ]
                if self.node is None:
                    # A node's scheduler saves the ledger itself.
                    running.append(tasks.create_task(save_forever(self._ledger, self._clock), name="save the ledger"))
                if self.gate is not None:
                    put_loop_first()
                await ended.wait()
                _log.info("ending")
                for task in running:
                    task.cancel()
        finally:
            await save(self._ledger)

    def _make_gate(self, store: BlockStore) -> "GateRole":
        # The node role does without pydantic and all that the plan needs.
        from exporter.metrics.verdict import VerdictMetrics
        from exporter.program.gate import GateRole
        from exporter.program.reread import Reread

        gate = GateRole(
            self._settings,
            self._ledger,
            self._clock,
            node=self.node,
            metrics=VerdictMetrics(store),
            master_key=self._keys.master,
        )
        gate.files.reread = Reread(self._reread) if self._reread else None
        if self._settings.kubernetes is not None:
            from exporter.program.in_cluster import InCluster
            from exporter.program.pod_tests import pod_tests

            kubernetes = self._settings.kubernetes
            cluster = InCluster(self._settings, kubernetes, self._ledger, self._clock, self._environment)
            gate.join(cluster)
            cluster.pods = pod_tests(gate, cluster, kubernetes, self._ledger, self._clock, self._keys.master)
        return gate

    def _reload(self) -> None:
        if self.gate is not None:
            self.gate.reload()

    def _pool(self) -> str:
        return self.node.assignment.pool if self.node and self.node.assignment else ""

    def _cost(self) -> OwnCost:
        cost = self.node.cost() if self.node else OwnCost()
        if self.gate is None:
            return cost
        if self.node is None:
            cost = replace(cost, deferrals=self.gate.tester.deferrals)
        if (cluster := self.gate.cluster) is None:
            return cost
        there = cluster.pods.outstanding if cluster.pods else None
        return replace(cost, test_pods=there, kinds=cluster.facts.counts())


def _check_listen(settings: Settings, keys: Keys) -> None:
    try:
        check_listen(settings.host, has_key=bool(keys.own))
    except ValueError as error:
        raise SettingsError((str(error),)) from error


def _lock(state_dir: Path) -> TextIO:
    """Return the locked file; the lock lasts until it is closed, by whatever end of the process."""
    try:
        state_dir.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = (state_dir / "lock").open("w")
    except OSError as error:
        raise SettingsError((f"state_dir: {error}, a writable directory wanted",)) from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        lock.close()
        raise SettingsError(
            (f"state_dir: {state_dir} is in use by another rdma-gate, one of its own wanted",)
        ) from error
    return lock


@asynccontextmanager
async def _listening(program: Program, settings: Settings) -> AsyncIterator[None]:
    app = make_app(program.services())
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=SHUTDOWN_SECONDS, keepalive_timeout=IDLE_SECONDS)
    await runner.setup()
    try:
        server = await _start(runner, settings)
        host, port = server.sockets[0].getsockname()[:2]
        _log.info("serving %s on http://%s:%d", " and ".join(sorted(settings.roles)), host, port)
        try:
            yield
        finally:
            server.close()
    finally:
        await runner.cleanup()


async def _start(runner: web.AppRunner, settings: Settings) -> asyncio.Server:
    assert runner.server is not None
    try:
        doors = Doors(runner.server)
        return await asyncio.get_running_loop().create_server(doors, settings.host, settings.port, backlog=128)
    except OSError as error:
        raise SettingsError((f"listen: {error}, a free address wanted",)) from error
