"""The guests are started once for all tests, and ended after them unless they ran before."""

import asyncio
import sys
import time
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from deploy.demo.session import Session
from deploy.faults.drive import OPEN, World
from deploy.faults.machine import state_of
from deploy.faults.path_check import PathCheck
from deploy.lab import Lab
from deploy.lab.fabric import LabDown
from deploy.ports import free_port

PLAN = Path(__file__).resolve().parents[2] / "deploy" / "faults" / "plan.yaml"
READY_LIMIT_SECONDS = 90.0

T = TypeVar("T")
Await = Callable[[Coroutine[Any, Any, T]], T]


@pytest.fixture(scope="session")
def fabric() -> Iterator[Lab]:
    reason = Lab.unavailable()
    if reason:
        pytest.skip("not run: " + reason)
    was_up = is_up()
    lab = Lab.up(say=print)
    lab.restore()
    yield lab
    if not was_up:
        lab.down()


@pytest.fixture
def lab(fabric: Lab) -> Iterator[Lab]:
    """Both guests without a fault, and again after the test."""
    yield fabric
    fabric.restore()


@pytest.fixture(scope="session")
def wait() -> Iterator[Await[Any]]:
    """One event loop for all tests of the running cluster, whose gate is a child of it."""
    with asyncio.Runner() as runner:
        yield runner.run


@pytest.fixture(scope="session")
def world(fabric: Lab, wait: Await[Any], tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A gate on this machine and a node role in each guest, once both nodes' own checks have passed."""
    session = Session(tmp_path_factory.mktemp("cluster") / "run", free_port(0), print, plan=PLAN)
    try:
        wait(session.start())
        wait(until_nodes_pass(session))
        yield World(session, fabric, PathCheck(session.config), state_of(fabric), print)
    finally:
        for node in fabric.nodes:
            node.stop()
        wait(session.stop(keep_machines=True))


async def until_nodes_pass(session: Session) -> None:
    deadline = time.monotonic() + READY_LIMIT_SECONDS
    wanted = [(node, check) for node in ("node-a", "node-b") for check in ("access", "runtime")]
    while shut := [one for one in wanted if session.cell(*one)["status"] not in OPEN]:
        assert time.monotonic() < deadline, f"{shut} not open in time"
        await asyncio.sleep(0.2)


def is_up() -> bool:
    try:
        Lab.load()
    except LabDown:
        return False
    return True
