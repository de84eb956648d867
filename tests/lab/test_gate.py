"""The gate sees faults of real machines, with the right words; and nothing is left of a program that was ended."""

import asyncio
import signal
import subprocess
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from deploy.demo.prometheus import NotAvailableError, find_program
from deploy.faults.cases import CASES, LONG
from deploy.faults.drive import World, drive
from deploy.lab import Node, cache

pytestmark = pytest.mark.lab

TOOL_RUNS = "until pgrep -x 'ib_write_bw' > /dev/null; do sleep 0.1; done"
NO_TOOL = "while pgrep -x 'ib_.*_bw|ib_.*_lat|ibv_.*pong' > /dev/null; do sleep 0.1; done"
PROGRAM_GONE = "while [ -e /proc/$(cat /run/lab/program.pid)/exe ]; do sleep 0.05; done"
KNOWN_LINT = 'non-summary metrics should not have "quantile" label'


@pytest.mark.parametrize(
    ("title", "words"),
    [
        ("link down", [("failed", "port_down")]),
        ("uverbs chmod 600", [("failed", "mode_denied")]),
        ("memlock 64 KiB, non-root", [("failed", "memlock_too_small"), ("fail", "memory_registration_failed")]),
        ("UDP 4791 dropped, in", [("fail", "no_completion")]),
        ("paused", [("unknown", "paused")]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_fault_is_seen_with_its_reason_and_recovers(
    world: World, wait: Any, title: str, words: list[tuple[str, str]]
) -> None:
    rows = wait(drive(world, next(case for case in CASES if case.title == title)))
    assert [(row.seen.status, row.seen.reason) for row in rows] == words
    assert [(row.seen.as_wanted, row.recovered_seconds is not None, row.left_behind) for row in rows] == [
        (True, True, "nothing") for _ in words
    ]


def test_promtool_finds_nothing_in_the_metrics_of_gate_and_node_but_the_label_quantile(world: World) -> None:
    try:
        promtool = find_program("promtool", cache.directory())
    except NotAvailableError as error:
        pytest.skip(f"not run: {error}")
    for url in (world.session.url, world.lab.node("node-a").api_url):
        complaints = [line for line in lint(promtool, url) if not line.endswith(KNOWN_LINT)]
        assert complaints == []


def test_a_node_that_is_ended_in_the_middle_of_a_burst_leaves_no_tool(world: World, wait: Any) -> None:
    node = world.lab.node("node-b")
    run = wait(burst(world, lambda: ended(node)))
    assert node.run(NO_TOOL, timeout=20).rc == 0
    assert run.findings[0].status != "pass"
    node.stop()
    node.start()


def test_a_gate_that_is_ended_exits_with_0_and_its_nodes_are_left_without_a_tool(world: World, wait: Any) -> None:
    world.session.signal_gate(signal.SIGTERM)
    assert wait(world.session.gate_ended()) == 0
    assert [node.run(NO_TOOL, timeout=20).rc for node in world.lab.nodes] == [0, 0]


async def burst(world: World, interrupt: Any) -> Any:
    testing = asyncio.create_task(asyncio.to_thread(world.path.run, "write-bw", LONG))
    await asyncio.to_thread(world.lab.node("node-b").run, TOOL_RUNS, timeout=60)
    await asyncio.to_thread(interrupt)
    return await testing


def ended(node: Node) -> None:
    node.run("kill -TERM $(cat /run/lab/program.pid)")
    assert node.run(PROGRAM_GONE, timeout=20).rc == 0


def lint(promtool: Path, url: str) -> list[str]:
    with urllib.request.urlopen(f"{url}/metrics", timeout=30) as answer:
        text = answer.read()
    checked = subprocess.run([promtool, "check", "metrics"], input=text, capture_output=True, check=False)
    return (checked.stdout + checked.stderr).decode().splitlines()
