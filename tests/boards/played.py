"""A real Prometheus on 127.0.0.1 that holds a played day and scrapes nothing."""

import json
import subprocess
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from shutil import copytree
from typing import Any

from deploy.demo.prometheus import find_program
from deploy.lab import cache
from deploy.ports import free_port
from tests.fixtures.history import play
from tests.fixtures.history.text import History

HISTORY = Path(__file__).parents[1] / "fixtures" / "history"
RECORDED = HISTORY / "lab.txt"
# A series that ended is marked as such in the recording, but OpenMetrics has no such mark: one step later it is gone.
LOOKBACK_SECONDS = play.STEP_SECONDS + 1
BLOCK = "24h"
LIMIT_SECONDS = 120.0
TRIES = 3


def blocks(history: History, seconds: int = play.DAY_SECONDS) -> Path:
    """Return a data directory with the history played for so long, made once in the cache outside the tree."""
    content = [repr(history), str(seconds), *((HISTORY / name).read_text() for name in ("play.py", "text.py"))]
    target = cache.directory() / "history" / cache.digest(content)
    with cache.lock("history"):
        if not target.exists():
            with cache.whole(target) as folder:
                _fill(folder, history, seconds)
    return target


@contextmanager
def prometheus(data: Path, folder: Path) -> Iterator[str]:
    """Run Prometheus on a copy of ``data`` below ``folder``; its URL."""
    copytree(data, folder / "tsdb")
    (folder / "prometheus.yml").write_text("{}\n")
    process, address = _started(folder)
    try:
        yield f"http://{address}"
    finally:
        process.terminate()
        process.wait()


def get(url: str, path: str, **given: object) -> Mapping[str, Any]:
    """Ask Prometheus' API; what it answers, errors included."""
    query = urllib.parse.urlencode(given)
    try:
        with urllib.request.urlopen(f"{url}/api/v1/{path}?{query}", timeout=LIMIT_SECONDS) as answer:
            return dict(json.load(answer))
    except urllib.error.HTTPError as error:
        return {"status": "error", "error": error.read().decode()}


def _started(folder: Path) -> tuple[subprocess.Popen[bytes], str]:
    """Start it, again where somebody else has taken the free port meanwhile, and wait until it answers."""
    for _ in range(TRIES):
        address = f"127.0.0.1:{free_port(0)}"
        command = [
            str(find_program("prometheus", cache.directory())),
            f"--config.file={folder / 'prometheus.yml'}",
            f"--storage.tsdb.path={folder / 'tsdb'}",
            "--storage.tsdb.retention.time=3650d",
            f"--query.lookback-delta={LOOKBACK_SECONDS}s",
            f"--web.listen-address={address}",
        ]
        with (folder / "prometheus.log").open("wb") as log:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        if _is_ready(process, address):
            return process, address
        process.kill()
        process.wait()
    raise AssertionError(f"Prometheus does not start: {(folder / 'prometheus.log').read_text()[-2000:]}")


def _is_ready(process: subprocess.Popen[bytes], address: str) -> bool:
    deadline, pause = time.monotonic() + LIMIT_SECONDS, threading.Event()
    while process.poll() is None and time.monotonic() < deadline:
        with suppress(OSError), urllib.request.urlopen(f"http://{address}/-/ready", timeout=LIMIT_SECONDS):
            return process.poll() is None
        pause.wait(0.05)
    return False


def _fill(folder: Path, history: History, seconds: int) -> None:
    samples = folder / "day.om"
    print(f"playing {history.seconds:.0f} recorded seconds for {seconds} s")
    play.write_day(history, samples, seconds)
    promtool = str(find_program("promtool", cache.directory()))
    options = [f"--max-block-duration={BLOCK}", "openmetrics", str(samples), str(folder)]
    subprocess.run([promtool, "tsdb", "create-blocks-from", *options], check=True, capture_output=True)
    samples.unlink()
