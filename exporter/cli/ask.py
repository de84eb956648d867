"""One question to the gate or to a node over HTTP, signed where there is a key; no answer is exit code 2."""

import asyncio
import time
from typing import Any

import aiohttp
import msgspec

from exporter.cli import NoAnswerError
from exporter.fabric.node_client import Address, Answer, NodeClient
from exporter.fabric.wire import Problem
from exporter.program.keys import read_keys
from exporter.settings import Settings
from probes._endpoint import Unreachable

LIMIT_SECONDS = 30.0
BODY_LIMIT_BYTES = 256 << 20


def gate_url(settings: Settings) -> str:
    """Return where these settings say that the gate listens."""
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"http://{host}:{settings.port}"


def ask_gate(settings: Settings, url: str | None, path: str) -> bytes:
    """Return the body of a GET. NoAnswerError where there is none, or one that is no success."""
    answer = asyncio.run(_ask(settings, url or gate_url(settings), path))
    if answer.status != 200:
        raise NoAnswerError(_problem(answer))
    return answer.body


def ask_gate_json(settings: Settings, url: str | None, path: str) -> Any:
    """Return the decoded JSON body of a GET. NoAnswerError as in ``ask_gate``."""
    try:
        return msgspec.json.decode(ask_gate(settings, url, path))
    except msgspec.DecodeError as error:
        raise NoAnswerError(f"gate: an unreadable answer found ({error}), JSON wanted") from error


async def _ask(settings: Settings, url: str, path: str) -> Answer:
    address = Address("gate", url, read_keys(settings).own)
    async with aiohttp.ClientSession() as session:
        client = NodeClient(session, address, time.time)
        try:
            return await client.ask("GET", path, limit_seconds=LIMIT_SECONDS, limit_bytes=BODY_LIMIT_BYTES)
        except Unreachable as error:
            raise NoAnswerError(f"{url}: {error}; is `rdma-gate serve` running there?") from error


def _problem(answer: Answer) -> str:
    try:
        return msgspec.json.decode(answer.body, type=Problem).summary
    except msgspec.DecodeError:
        return f"gate: HTTP status {answer.status} found, 200 wanted"
