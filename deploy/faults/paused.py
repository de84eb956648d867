"""A running test ends when its nodes are paused by their pause file, and the next one is put off."""

import asyncio
import time

from deploy.faults.path_check import PathCheck
from deploy.faults.sights import Seen, WhilePaused
from deploy.lab import Lab
from probes import Run

PAUSE_FILE = "/var/lib/rdma-gate/pause"
TOOL_RUNS = "until pgrep '^ib_write' > /dev/null; do sleep 0.1; done"
TOOL_GONE = "while pgrep '^ib_write' > /dev/null; do sleep 0.05; done"
TOOL_LIMIT_SECONDS = 60.0


async def see_paused(lab: Lab, path: PathCheck, sight: WhilePaused) -> Seen:
    """Pause in the middle of a test. ``seconds`` is how long the tool lived on."""
    testing = asyncio.create_task(asyncio.to_thread(path.run, sight.test, sight.settings))
    client = lab.node("node-a")
    await asyncio.to_thread(client.run, TOOL_RUNS, timeout=TOOL_LIMIT_SECONDS)
    try:
        for node in lab.nodes:
            await asyncio.to_thread(node.put, PAUSE_FILE, "the faults\n", 0o644)
        paused = time.monotonic()
        await asyncio.to_thread(client.run, TOOL_GONE, timeout=TOOL_LIMIT_SECONDS)
        seconds = time.monotonic() - paused
        ended, asked = await testing, await asyncio.to_thread(path.run, sight.test, {})
    finally:
        for node in lab.nodes:
            await asyncio.to_thread(node.run, ["rm", "-f", PAUSE_FILE])
    return _judged(ended, asked, sight, seconds)


def _judged(ended: Run, asked: Run, sight: WhilePaused, seconds: float) -> Seen:
    stopped, refused = ended.findings[0], asked.findings[0]
    words = {(run.outcome, run.findings[0].status.value, run.findings[0].reason) for run in (ended, asked)}
    wanted = {("deferred", sight.wanted.status, reason) for reason in sight.wanted.reasons}
    summary = f"running: {stopped.summary}; asked for: {refused.summary}"
    return Seen(words <= wanted, refused.status.value, refused.reason, summary, seconds)
