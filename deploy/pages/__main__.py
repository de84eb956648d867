"""``make test-pages``: break the lab, one fault after another, and see who is told by the shipped alerts and routes."""

import argparse
import asyncio
import json
import os
import signal
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from rich.console import Console

from deploy.demo.monitoring import Monitoring
from deploy.demo.prometheus import NotAvailableError
from deploy.demo.session import REPOSITORY, NoGateError, Session
from deploy.faults.at_gate import wait_until_open
from deploy.faults.machine import left_behind
from deploy.lab import Lab, cache, host, progress
from deploy.lab.progress import Say
from deploy.pages.cases import CASES, Case, chosen
from deploy.pages.drive import Proof, Row
from deploy.pages.spare_node import start_spare
from deploy.pages.table import show
from deploy.pages.world import LabWorld, NotWatchedError
from deploy.ports import free_port

FOLDER = REPOSITORY / ".run" / "pages"
PLAN = Path(__file__).with_name("plan.yaml")
OPEN_LIMIT_SECONDS = 600.0
REST_LIMIT_SECONDS = 120.0
WIDTH_IN_A_PIPE = 170


async def main(arguments: Sequence[str]) -> int:
    """0 when each fault was told as wanted, 1 when one was not, 2 where it cannot run, 64 for a wrong name."""
    try:
        cases = chosen(_only(arguments))
    except ValueError as error:
        print(f"test-pages: {error}", file=sys.stderr)
        return 64
    say = progress.start()
    await asyncio.to_thread(host.install, say)
    if reason := Lab.unavailable():
        print(f"test-pages: not run: {reason}", file=sys.stderr)
        return 2
    session = Session(FOLDER, free_port(9842), say, plan=PLAN, more_members=start_spare)
    world = LabWorld(session, Monitoring(FOLDER, cache.directory()), say)
    try:
        return await _prove_all(world, cases)
    except (NoGateError, NotAvailableError, NotWatchedError) as error:
        print(f"test-pages: not run: {error}", file=sys.stderr)
        return 2
    finally:
        await world.monitoring.stop()
        await session.stop()
        say(f"ended, nothing left running; Prometheus' data is in {world.monitoring.data}")


async def _prove_all(world: LabWorld, cases: Sequence[Case]) -> int:
    await world.session.start()
    await wait_until_open(world.session, OPEN_LIMIT_SECONDS)
    await world.monitoring.start(world.session.targets())
    await world.wait_until_watched()
    world.say(f"Prometheus {world.monitoring.prometheus}, Alertmanager {world.monitoring.alertmanager}")
    if too_early := await world.come_to_rest(REST_LIMIT_SECONDS):
        print(f"test-pages: {too_early} found before any fault, nothing wanted", file=sys.stderr)
        return 1
    before = await world.state()
    rows: list[Row] = []
    for number, case in enumerate(cases, 1):
        world.say(f"{number} of {len(cases)}: {case.name}, {case.wanted} wanted")
        rows.append(await Proof(world, case).run())
        _say_row(world.say, rows[-1])
    left = left_behind(before, await world.state())
    (FOLDER / "rows.json").write_text(json.dumps([asdict(row) for row in rows], indent=1))
    show(Console(width=None if sys.stdout.isatty() else WIDTH_IN_A_PIPE), rows)
    print(f"left behind in the machines: {left}")
    return 0 if left == "nothing" and not any(row.mistakes for row in rows) else 1


def _say_row(say: Say, row: Row) -> None:
    say(f"{row.case}: {'; '.join(row.mistakes) or 'as wanted'}")


def _only(arguments: Sequence[str]) -> list[str]:
    names = ",".join(case.name for case in CASES)
    parser = argparse.ArgumentParser(prog="make test-pages", description="All faults take about an hour.")
    parser.add_argument("--only", default="", metavar="NAMES", help=f"some of {names}")
    return [name for name in parser.parse_args(arguments).only.split(",") if name]


async def _interruptible(arguments: Sequence[str]) -> int:
    """Ctrl-C and a SIGTERM end it with everything cleaned up; a second one does not cut that short."""
    proving, loop = asyncio.current_task(), asyncio.get_running_loop()
    assert proving is not None

    def end() -> None:
        if not proving.cancelling():
            proving.cancel()

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, end)
    return await main(arguments)


if __name__ == "__main__":
    os.chdir(REPOSITORY)
    try:
        sys.exit(asyncio.run(_interruptible(sys.argv[1:])))
    except asyncio.CancelledError:
        sys.exit(130)
