"""What the node role costs a machine of eight HCAs that it watches, over two minutes after it has settled."""

import time
from collections.abc import Iterator
from pathlib import Path

from tests.bench.figures import Figure
from tests.bench.http_get import get
from tests.bench.process_cost import cpu_seconds, resident_mib
from tests.bench.recorded_node import HCAS, write_settings
from tests.bench.server import python, running

SETTLE_SECONDS = 12.0
WATCH_SECONDS = 120.0
SCRAPE_EVERY_SECONDS = 15.0


def figures(folder: Path) -> Iterator[Figure]:
    """Yield memory and CPU of the node role with a 10 s passive interval, scraped as Prometheus does."""
    home = folder / "idle"
    config, port = write_settings(home, ("node",), every={"access.ports": "10s", "access.gids": "10m"})
    print(f"  watching the node role for {SETTLE_SECONDS + WATCH_SECONDS:.0f} s", flush=True)
    with running(python("exporter", "--config", config, "serve"), port, log=home / "serve.log") as server:
        time.sleep(SETTLE_SECONDS)
        before, began = cpu_seconds(server.pid), time.monotonic()
        _scrape_for(WATCH_SECONDS, port)
        share = (cpu_seconds(server.pid) - before) / (time.monotonic() - began)
        note = f"{HCAS} HCAs, passive interval 10 s, a scrape each {SCRAPE_EVERY_SECONDS:.0f} s"
        yield Figure("node role, CPU of one core", share * 100, "%", 0.5, note=note)
        yield Figure("node role, resident memory", resident_mib(server.pid), "MiB", 64)
        yield Figure("node role, resident memory at most", resident_mib(server.pid, "VmHWM"), "MiB")


def _scrape_for(seconds: float, port: int) -> None:
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        time.sleep(min(left, SCRAPE_EVERY_SECONDS))
        get(port, "/metrics", "gzip")
