"""A fake API on loopback, a way to it, and clocks that a test can hurry or hold."""

import asyncio
import json
from collections.abc import Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from exporter.clock import SystemClock
from exporter.cluster.configuration import configure_by
from exporter.cluster.connection import Connection
from exporter.settings import KubernetesSettings
from tests.exporter.cluster.fake_api import FakeApi

LIMIT_SECONDS = 120.0


class HurriedClock(SystemClock):
    """Real time, but nobody waits longer than a moment; what they asked for is kept."""

    def __init__(self) -> None:
        self.waits: list[float] = []

    async def wait(self, event: asyncio.Event, limit_seconds: float) -> None:
        self.waits.append(limit_seconds)
        await super().wait(event, min(limit_seconds, 0.01))


@dataclass
class HeldClock:
    """Time passes only when a test says so. ``skew`` is how wrong this machine's wall clock is."""

    skew: float = 0.0
    seconds: float = 1000.0
    _waiting: list[tuple[float, asyncio.Event]] = field(default_factory=list)

    def now(self) -> float:
        return 1796000000.0 + self.seconds + self.skew

    def monotonic(self) -> float:
        return self.seconds

    async def wait(self, event: asyncio.Event, limit_seconds: float) -> None:
        place = (self.seconds + limit_seconds, event)
        self._waiting.append(place)
        await event.wait()

    async def idle(self) -> None:
        """Return once somebody waits."""
        await until(lambda: self._waiting)

    async def advance(self, seconds: float) -> None:
        """Let time pass, and whoever waited long enough go on until it waits again."""
        await self.idle()
        self.seconds += seconds
        due = [one for one in self._waiting if one[0] <= self.seconds]
        self._waiting = [one for one in self._waiting if one[0] > self.seconds]
        for _, event in due:
            event.set()
        if due:
            await self.idle()


async def until(check: Callable[[], object]) -> None:
    """Return once ``check`` is true; a failure after two minutes."""
    async with asyncio.timeout(LIMIT_SECONDS):
        while not check():
            await asyncio.sleep(0.005)


@asynccontextmanager
async def running(*actions):
    """Run these beside the test, and end them with it."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(action) for action in actions]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()


def write_kubeconfig(folder, url, token="first"):
    (folder / "token").write_text(token)
    config = {
        "current-context": "here",
        "contexts": [{"name": "here", "context": {"cluster": "fake", "user": "me"}}],
        "clusters": [{"name": "fake", "cluster": {"server": url}}],
        "users": [{"name": "me", "user": {"tokenFile": str(folder / "token")}}],
    }
    (folder / "kubeconfig").write_text(json.dumps(config))
    return folder / "kubeconfig"


def settings_for(folder, **changes):
    values = {
        "namespace": "rdma-gate",
        "service_account": folder,
        "kubeconfig": folder / "kubeconfig",
        "test_namespaces": ("tests",),
        **changes,
    }
    return KubernetesSettings(**values)


@pytest.fixture
async def api():
    async with FakeApi().serving() as serving:
        yield serving


@pytest.fixture
def clock():
    return HurriedClock()


@pytest.fixture
async def connection(api, tmp_path, clock):
    write_kubeconfig(tmp_path, api.url)
    opened = Connection(configure_by(settings_for(tmp_path), {}), clock.monotonic)
    yield opened
    await opened.close()
