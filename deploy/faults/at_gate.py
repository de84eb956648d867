"""When the gate shows a fault that is being made, and when it shows it no more."""

import asyncio
import time
import urllib.error
from collections.abc import Awaitable, Mapping
from typing import Any

from deploy.demo.session import NoGateError, Session
from deploy.faults.sights import AtGate, Seen

POLL_SECONDS = 0.05
OPEN = frozenset({"pass", "not_applicable", "accepted"})


async def see_at_gate(session: Session, sight: AtGate, making: Awaitable[float]) -> Seen:
    """Look until the gate shows the wanted words; ``making`` ends with the monotonic second of the whole fault."""
    made = asyncio.ensure_future(making)
    looking = time.monotonic()
    found: Mapping[str, Any] | None = None
    while time.monotonic() < looking + sight.limit_seconds:
        if found := _shown(await gate_cell(session, sight), sight):
            break
        await asyncio.sleep(POLL_SECONDS)
    seen_at = time.monotonic()
    seconds = max(0.0, seen_at - await made)
    if found is None:
        cell = await gate_cell(session, sight)
        status, why = str(cell.get("status", "")), str(cell.get("why", ""))
        return Seen(as_wanted=False, status=status, reason="", summary=why, seconds=seconds)
    status, reason, summary = found["status"], found["reason"], found["summary"]
    return Seen(as_wanted=True, status=status, reason=reason, summary=summary, seconds=seconds)


async def wait_until_open(session: Session, limit_seconds: float) -> None:
    """Return once every node is open, saying each change. NoGateError with its problems when one is not in time."""
    said = ""
    deadline = time.monotonic() + limit_seconds
    while time.monotonic() < deadline:
        view = await asyncio.to_thread(session.gate)
        if view["banner"] != said:
            said = view["banner"]
            session.say(f"gate {said}")
        if view["is_open"] and not closed_nodes(view):
            return
        await asyncio.sleep(0.2)
    raise NoGateError(f"not open after {limit_seconds:g} s: {', '.join(closed_nodes(view)) or said}")


def closed_nodes(view: Mapping[str, Any]) -> list[str]:
    """Return the nodes that are not open, each with its first closed check: ``node-b access failed``."""
    nodes = [node for pool in view["pools"] for node in pool["nodes"] if not node["is_open"]]
    return [f"{node['name']} {_first_closed(node)}".strip() for node in nodes]


def _first_closed(node: Mapping[str, Any]) -> str:
    closed = (cell for cell in node["cells"] if cell["status"] not in OPEN)
    return next((f"{cell['check']} {cell['status']}" for cell in closed), "")


async def gate_cell(session: Session, sight: AtGate) -> Mapping[str, Any]:
    """Return the cell as the gate shows it now, empty when it does not answer."""
    try:
        return await asyncio.to_thread(session.cell, sight.node, sight.check)
    except (OSError, urllib.error.URLError):
        return {}


def _shown(cell: Mapping[str, Any], sight: AtGate) -> Mapping[str, Any] | None:
    if cell.get("status") != sight.wanted.status:
        return None
    findings = (one for one in cell["findings"] if one["reason"] in sight.wanted.reasons)
    return next(findings, None)
