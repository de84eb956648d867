"""``make lab-faults``: break the lab in every known way, and print what the gate says and how soon."""

import asyncio
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from deploy.demo.session import REPOSITORY, NoGateError, Session
from deploy.faults.at_gate import wait_until_open
from deploy.faults.bare_tools import compare_all
from deploy.faults.cases import CASES, Case
from deploy.faults.drive import Row, World, drive, gate_held
from deploy.faults.machine import state_of
from deploy.faults.path_check import PathCheck
from deploy.faults.table import show, show_comparisons
from deploy.lab import Lab, host, progress
from deploy.ports import free_port

PLAN = Path(__file__).with_name("plan.yaml")
OPEN_LIMIT_SECONDS = 240.0
WIDTH_IN_A_PIPE = 170


async def main(wanted: Sequence[str]) -> int:
    """Run the faults whose titles hold one of the words, or all; 0 when each was seen as stated, 2 where it cannot."""
    say = progress.start()
    await asyncio.to_thread(host.install, say)
    if reason := Lab.unavailable():
        print(f"lab-faults: not run: {reason}", file=sys.stderr)
        return 2
    session = Session(REPOSITORY / ".run" / "faults", free_port(9842), say, plan=PLAN)
    try:
        await session.start()
        return await _run(await _world(session), [case for case in CASES if _is_wanted(case, wanted)])
    except NoGateError as error:
        print(f"lab-faults: the gate did not start or open\n{error}", file=sys.stderr)
        return 2
    finally:
        await session.stop()
        say("ended, nothing left running")


async def _world(session: Session) -> World:
    assert session.lab is not None
    await wait_until_open(session, OPEN_LIMIT_SECONDS)
    state = await asyncio.to_thread(state_of, session.lab)
    return World(session, session.lab, PathCheck(session.config), state, session.say)


async def _run(world: World, cases: Sequence[Case]) -> int:
    console = Console(width=None if sys.stdout.isatty() else WIDTH_IN_A_PIPE)
    with gate_held(world.session):
        comparisons = await compare_all(world.lab, world.path)
    rows: list[Row] = []
    for number, case in enumerate(cases, 1):
        world.say(f"{number} of {len(cases)}: {case.title}")
        for row in await drive(world, case):
            world.say(f"    {row.sight.place}: {row.seen.status} {row.seen.reason}: {row.seen.summary}")
            rows.append(row)
    show(console, rows)
    show_comparisons(console, comparisons)
    return 0 if all(row.seen.as_wanted for row in rows) else 1


def _is_wanted(case: Case, wanted: Sequence[str]) -> bool:
    return not wanted or any(word in case.title for word in wanted)


if __name__ == "__main__":
    os.chdir(REPOSITORY)
    try:
        sys.exit(asyncio.run(main(sys.argv[1:])))
    except KeyboardInterrupt:
        sys.exit(130)
