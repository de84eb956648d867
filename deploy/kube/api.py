"""Plain HTTP to a Kubernetes API server, so that tests see exactly what it answers."""

import json
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

LIMIT_SECONDS = 120.0
POLL_SECONDS = 0.05
MERGE_PATCH = "application/merge-patch+json"

T = TypeVar("T")


@dataclass(frozen=True)
class Answer:
    """The HTTP status and the body's JSON; its text where it is no JSON."""

    status: int
    body: Any


class RefusedError(Exception):
    """The API server did not do what was asked; the message holds its own."""


@dataclass(frozen=True)
class Api:
    """One user's view of the API: its URL, the file with its certificate authority, and a bearer token.

    Each read of an answer may take ``limit_seconds``.
    """

    url: str
    authority: Path
    token: str
    limit_seconds: float = 60.0

    def ask(self, method: str, path: str, body: object = None, *, content: str = "application/json") -> Answer:
        """Send one request and return whatever is answered; OSError where nothing is."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": content, "Accept": "application/json"}
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        context = ssl.create_default_context(cafile=str(self.authority))
        opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context)
        )
        try:
            with opener.open(request, timeout=self.limit_seconds) as answer:
                return Answer(answer.status, _decoded(answer.read()))
        except urllib.error.HTTPError as refusal:
            with refusal:
                return Answer(refusal.code, _decoded(refusal.read()))

    def get(self, path: str) -> Any:
        """The object or list at this path; RefusedError where it is not had."""
        return self._done("GET", path, self.ask("GET", path))

    def post(self, path: str, body: object) -> Any:
        """The object as made; RefusedError where it is not."""
        return self._done("POST", path, self.ask("POST", path, body))

    def patch(self, path: str, body: object) -> Any:
        """The object after this merge patch; RefusedError where it is not patched."""
        return self._done("PATCH", path, self.ask("PATCH", path, body, content=MERGE_PATCH))

    def with_token(self, token: str) -> "Api":
        """The same server for another user."""
        return replace(self, token=token)

    def _done(self, method: str, path: str, answer: Answer) -> Any:
        if not 200 <= answer.status < 300:
            said = answer.body["message"] if isinstance(answer.body, dict) else answer.body
            raise RefusedError(f"{method} {path}: {answer.status} found, success wanted: {said}")
        return answer.body


def until(holds: Callable[[], T], limit_seconds: float = LIMIT_SECONDS) -> T:
    """Look again and again until it is true, and return it; AssertionError after the limit."""
    deadline = time.monotonic() + limit_seconds
    while not (found := holds()):
        assert time.monotonic() < deadline, f"{found!r} found, still not what was wanted after {limit_seconds:g} s"
        time.sleep(POLL_SECONDS)
    return found


def _decoded(raw: bytes) -> Any:
    try:
        return json.loads(raw)
    except ValueError:
        return raw.decode(errors="replace")
