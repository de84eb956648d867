"""Prometheus and Alertmanager run as shipped beside what they watch, tell the receiver, and end."""

import asyncio
import time
import urllib.error
from collections.abc import Awaitable, Callable

import pytest
import yaml

from deploy.demo.monitoring import SCRAPING, Monitoring
from deploy.demo.receiver import receiving
from deploy.lab import cache
from tests.alerts.stack import ask

LIMIT_SECONDS = 120.0
ALERT = {"alertname": "RDMAGateCommonCause", "severity": "critical", "owner": "network", "pool": "lab"}


async def until(holds: Callable[[], object]) -> object:
    deadline = time.monotonic() + LIMIT_SECONDS
    while time.monotonic() < deadline:
        try:
            if found := await asyncio.to_thread(holds):
                return found
        except (urllib.error.URLError, ConnectionError):
            pass
        await asyncio.sleep(0.1)
    raise AssertionError(f"{holds}: did not hold within {LIMIT_SECONDS:g} s")


async def in_one(monitoring: Monitoring, then: Callable[[], Awaitable[None]]) -> None:
    with receiving() as target:
        target.text = "rdma_gate_open 1\n"
        try:
            await monitoring.start([f"127.0.0.1:{target.port}"])
            await then()
        finally:
            await monitoring.stop()


async def test_the_shipped_intervals_and_rules_are_in_force_and_what_is_told_arrives(program, tmp_path):
    program("prometheus")
    program("prometheus-alertmanager")
    monitoring = Monitoring(tmp_path, cache.directory())
    shipped = yaml.safe_load(SCRAPING.read_text())

    async def look() -> None:
        config = await until(lambda: ask(f"{monitoring.prometheus}/api/v1/status/config")["data"]["yaml"])
        running = yaml.safe_load(config)["global"]
        assert {name: running[name] for name in shipped["global"]} == shipped["global"]
        groups = (await until(lambda: ask(f"{monitoring.prometheus}/api/v1/rules")))["data"]["groups"]
        assert len(groups) == len(shipped["rule_files"])
        await until(lambda: ask(f"{monitoring.alertmanager}/api/v2/status"))
        await asyncio.to_thread(ask, f"{monitoring.alertmanager}/api/v2/alerts", [{"labels": ALERT}])
        (told,) = await until(monitoring.told)
        assert (told.path, told.names) == ("/network/page", ("RDMAGateCommonCause",))

    await in_one(monitoring, look)
    assert monitoring.data.is_dir()
    for url in (monitoring.prometheus, monitoring.alertmanager):
        with pytest.raises(urllib.error.URLError):
            ask(f"{url}/-/healthy")


async def test_stopping_what_never_started_is_no_error(tmp_path):
    monitoring = Monitoring(tmp_path, tmp_path)
    await monitoring.stop()
    await monitoring.stop()
