"""Prometheus, Alertmanager and a receiver beside a running gate, with the shipped intervals, rules and routing."""

import asyncio
import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from deploy.demo.alertmanager import start_alertmanager, write_routing
from deploy.demo.prometheus import find_program, start_prometheus, write_config
from deploy.demo.receiver import Notification, Receiver, receiving
from deploy.ports import free_port

DEPLOY = Path(__file__).resolve().parents[1]
SCRAPING = DEPLOY / "prometheus.yml"
ROUTING = DEPLOY.parent / "alerts" / "alertmanager.yaml"
ENDED_LIMIT_SECONDS = 10.0


@dataclass
class Monitoring:
    """``folder`` holds configurations, logs and Prometheus' data; ``cache`` programs that had to be fetched."""

    folder: Path
    cache: Path
    prometheus: str = ""
    alertmanager: str = ""
    receiver: Receiver = field(default_factory=Receiver)
    _processes: list[asyncio.subprocess.Process] = field(default_factory=list, repr=False)
    _listening: contextlib.ExitStack = field(default_factory=contextlib.ExitStack, repr=False)

    @property
    def data(self) -> Path:
        """Prometheus' data directory, which stays when all has ended."""
        return self.folder / "prometheus" / "tsdb"

    async def start(self, targets: Sequence[str]) -> None:
        """Start all three to watch these targets (host:port). NotAvailableError where a program is not to be had."""
        alertmanager = await asyncio.to_thread(find_program, "prometheus-alertmanager", self.cache)
        prometheus = await asyncio.to_thread(find_program, "prometheus", self.cache)
        self.receiver = self._listening.enter_context(receiving())
        where = f"127.0.0.1:{free_port(9093)}"
        routing = write_routing(ROUTING, f"127.0.0.1:{self.receiver.port}", self.folder / "alertmanager.yml")
        self._processes.append(await start_alertmanager(alertmanager, routing, where, self.folder / "alertmanager"))
        self.alertmanager = f"http://{where}"
        address = f"127.0.0.1:{free_port(9090)}"
        config = write_config(SCRAPING, targets, self.folder / "prometheus.yml", where)
        self._processes.append(await start_prometheus(prometheus, config, address, self.folder / "prometheus"))
        self.prometheus = f"http://{address}"

    def told(self) -> list[Notification]:
        """Return the notifications that came since the last call."""
        return self.receiver.come()

    async def stop(self) -> None:
        """End all three; safe to repeat, and after a start that did not come to its end."""
        for process in reversed(self._processes):
            if process.returncode is None:
                process.terminate()
        for process in self._processes:
            try:
                await asyncio.wait_for(process.wait(), ENDED_LIMIT_SECONDS)
            except TimeoutError:
                process.kill()
        self._processes.clear()
        self._listening.close()
