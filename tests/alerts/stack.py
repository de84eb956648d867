"""A real Alertmanager and a real Prometheus on free ports of 127.0.0.1, with the shipped rules and routing."""

import json
import re
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import yaml

from alerts.lint import ALERTS
from deploy.demo.alertmanager import options, write_routing
from deploy.demo.prometheus import alertmanager_command, write_config
from deploy.ports import free_port

LIMIT_SECONDS = 30.0
SHIPPED = ALERTS.parent / "deploy" / "prometheus.yml"
KEPT = re.compile(r"keep_firing_for: \w+")
FAST = {"group_wait": "1s", "group_interval": "1s"}


def ask(url: str, body: object = None, *, limit_seconds: float = 5.0) -> Any:
    """GET, or POST the body as JSON; the answer's JSON, None where it has none."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=limit_seconds) as answer:
        text = answer.read()
    return json.loads(text) if text.startswith((b"{", b"[")) else None


def until(holds: Callable[[], Any]) -> Any:
    """Ask again and again until it holds, and return what it said."""
    deadline, pause = time.monotonic() + LIMIT_SECONDS, threading.Event()
    while time.monotonic() < deadline:
        with suppress(urllib.error.URLError, ConnectionError, TimeoutError):
            if found := holds():
                return found
        pause.wait(0.05)
    raise AssertionError(f"{holds}: did not hold within {LIMIT_SECONDS:g} s")


@contextmanager
def alertmanager(program: Path, folder: Path, receiver_port: int) -> Iterator[str]:
    """Run Alertmanager with the example, its times shortened and its webhooks at that port; its URL."""
    example = ALERTS / "alertmanager.yaml"
    file = write_routing(example, f"127.0.0.1:{receiver_port}", folder / "alertmanager.yml")
    config = yaml.safe_load(file.read_text())
    config["route"]["routes"][0] |= FAST
    file.write_text(yaml.safe_dump(config))
    address = f"127.0.0.1:{free_port(0)}"
    with _running(alertmanager_command(program, *options(file, address, folder)), folder / "alertmanager.log"):
        until(lambda: ask(f"http://{address}/api/v2/status"))
        yield f"http://{address}"


@contextmanager
def prometheus(program: Path, folder: Path, target_port: int, alertmanager_url: str) -> Iterator[str]:
    """Run Prometheus with the shipped rules, each second, until it scrapes and knows its Alertmanager; its URL.

    What ends, ends after a second: ``keep_firing_for`` is shortened.
    """
    config = folder / "prometheus.yml"
    alertmanager_address = alertmanager_url.removeprefix("http://")
    write_config(SHIPPED, [f"127.0.0.1:{target_port}"], config, alertmanager_address)
    fast = {"scrape_interval": "1s", "evaluation_interval": "1s", "external_labels": {"cluster": "lab"}}
    written = yaml.safe_load(config.read_text())
    rules = [_ending_soon(Path(file), folder) for file in written["rule_files"]]
    config.write_text(yaml.safe_dump(written | {"global": fast, "rule_files": rules}))
    with serving(program, config, folder / "prometheus") as url:
        # Nothing is scraped and nobody told in the first five seconds.
        until(lambda: [one for one in ask(f"{url}/api/v1/targets")["data"]["activeTargets"] if one["health"] == "up"])
        until(lambda: ask(f"{url}/api/v1/alertmanagers")["data"]["activeAlertmanagers"])
        yield url


@contextmanager
def serving(program: Path, config: Path, data: Path, *options: str) -> Iterator[str]:
    """Run Prometheus with this configuration over the folder ``data`` until the block ends; its URL."""
    address = f"127.0.0.1:{free_port(0)}"
    argv = [
        str(program),
        f"--config.file={config}",
        f"--storage.tsdb.path={data}",
        f"--web.listen-address={address}",
        *options,
    ]
    with _running(argv, config.parent / "prometheus.log"):
        until(lambda: ask(f"http://{address}/api/v1/status/buildinfo"))
        yield f"http://{address}"


def _ending_soon(rules: Path, folder: Path) -> str:
    changed = folder / rules.name
    changed.write_text(KEPT.sub("keep_firing_for: 1s", rules.read_text()))
    return str(changed)


@contextmanager
def _running(argv: Sequence[str], log: Path) -> Iterator[None]:
    with log.open("wb") as file:
        process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=file, stderr=file)
    try:
        yield
    finally:
        ended_early = process.poll() is not None
        process.terminate()
        process.wait()
        assert not ended_early, log.read_text()[-2000:]
