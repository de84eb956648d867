"""``make demo``: a real RDMA fabric, measured end to end on one machine, until Ctrl-C."""

import asyncio
import contextlib
import signal
import sys
from pathlib import Path

from deploy.demo.monitoring import Monitoring
from deploy.demo.prometheus import NotAvailableError
from deploy.demo.session import REPOSITORY, NoGateError, Session
from deploy.demo.told import told
from deploy.lab import Lab, cache, host, progress
from deploy.lab.progress import Say
from deploy.ports import free_port

TRY = """\
  Gate page     {gate}/gate
  Prometheus    {prometheus}
  Alertmanager  {alertmanager}, whose pages and tickets are printed here
  Logs, state   {folder}

What to try, in another terminal:
  deploy/lab/lab link-down node-b        the gate closes within a second: port_down; the network team is paged
  deploy/lab/lab drop-4791 node-b        RDMA packets are lost: no_completion, or tool_hung
  deploy/lab/lab memlock node-b 64       a memory lock of 64 KiB: memlock_too_small
  deploy/lab/lab remove-uverbs node-b    the device file is gone: not_injected
  deploy/lab/lab restore all             undo everything
  .venv/bin/rdma-gate --config {config} check
  .venv/bin/rdma-gate --config {config} explain node-b access

Ctrl-C ends everything.
"""


async def main() -> int:
    """Run the demo; exit 0 after Ctrl-C, 1 with one sentence where it cannot run here."""
    say = progress.start()
    await asyncio.to_thread(host.install, say)
    if reason := Lab.unavailable():
        print(f"demo: {reason}", file=sys.stderr)
        return 1
    ended = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    session = Session(REPOSITORY / ".run" / "demo", free_port(9842), say)
    monitoring = Monitoring(session.folder, cache.directory())
    try:
        starting = asyncio.create_task(session.start())
        await asyncio.wait({starting, asyncio.create_task(ended.wait())}, return_when=asyncio.FIRST_COMPLETED)
        if not ended.is_set():
            await starting
            await _scrape(session, monitoring, say)
            await _watch(session, monitoring, ended, say)
        starting.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await starting
    except NoGateError as error:
        print(f"demo: the gate did not start\n{error}", file=sys.stderr)
        return 1
    finally:
        say("ending")
        await monitoring.stop()
        await session.stop()
        say("ended, nothing left running")
    return 0


async def _scrape(session: Session, monitoring: Monitoring, say: Say) -> None:
    try:
        await monitoring.start(session.targets())
        say(f"Prometheus scrapes {session.url}/metrics and both nodes every 5 s")
    except NotAvailableError as error:
        say(f"no Prometheus and no Alertmanager: {error}")
    urls = {name: getattr(monitoring, name) or "not running" for name in ("prometheus", "alertmanager")}
    print(TRY.format(gate=session.url, folder=session.folder, config=_shown(session.config), **urls))


async def _watch(session: Session, monitoring: Monitoring, ended: asyncio.Event, say: Say) -> None:
    """Print each change of the gate's banner, and who is told what, until the end is asked for."""
    banner = ""
    while not ended.is_set():
        with contextlib.suppress(OSError):
            found = (await asyncio.to_thread(session.gate))["banner"]
            if found != banner:
                banner = found
                say(f"gate {banner}")
        for one in monitoring.told():
            say(told(one))
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(ended.wait(), 0.2)


def _shown(path: Path) -> Path:
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
