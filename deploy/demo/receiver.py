"""A webhook receiver on 127.0.0.1 that keeps what Alertmanager sends, and a text served for Prometheus to scrape."""

import json
import queue
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

ARRIVAL_SECONDS = 60.0


@dataclass(frozen=True)
class Notification:
    """One notification: the receiver's path, firing or resolved, and the names and labels of its alerts.

    ``group`` is Alertmanager's key of what is told together, ``at`` the monotonic second of its arrival.
    """

    path: str
    status: str
    names: tuple[str, ...]
    alerts: tuple[dict[str, Any], ...] = field(repr=False, compare=False, default=())
    group: str = field(repr=False, compare=False, default="")
    at: float = field(repr=False, compare=False, default=0.0)

    @property
    def firing(self) -> tuple[dict[str, Any], ...]:
        """Its alerts that fire; the others have ended and are told beside them."""
        return tuple(alert for alert in self.alerts if alert.get("status", self.status) == "firing")


@dataclass
class Receiver:
    """``text`` is what is answered to a GET."""

    port: int = 0
    text: str = ""
    arrived: "queue.Queue[Notification]" = field(default_factory=queue.Queue)

    def next(self) -> Notification:
        """Wait for the next notification; queue.Empty when none comes."""
        return self.arrived.get(timeout=ARRIVAL_SECONDS)

    def come(self) -> list[Notification]:
        """Return those that have arrived and were not taken yet, without waiting."""
        return [self.arrived.get_nowait() for _ in range(self.arrived.qsize())]


@contextmanager
def receiving(port: int = 0) -> Iterator[Receiver]:
    """Listen on that port, or on a free one, until the block ends."""
    receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            receiver.arrived.put(notification(self.path, body, time.monotonic()))
            self._answer(b"")

        def do_GET(self) -> None:
            self._answer(receiver.text.encode())

        def log_message(self, *_: object) -> None:
            pass

        def _answer(self, body: bytes) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    receiver.port = server.server_address[1]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield receiver
    finally:
        server.shutdown()
        server.server_close()


def notification(path: str, body: Mapping[str, Any], at: float) -> Notification:
    """Read one webhook's body."""
    names = tuple(sorted(alert["labels"]["alertname"] for alert in body["alerts"]))
    return Notification(path, body["status"], names, tuple(body["alerts"]), body.get("groupKey", ""), at)
