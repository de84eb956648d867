"""The table says what was seen beside what was wanted, and each fault is one that the lab can make."""

from deploy.faults.cases import CASES
from deploy.faults.drive import Row
from deploy.faults.machine import left_behind
from deploy.faults.sights import InTest, Seen, WhilePaused, Words
from deploy.faults.table import cells
from deploy.lab.faults import FAULTS
from exporter.plan.load import load_plan
from probes.access import device_files, gids, ports
from probes.connectivity import ping_pong
from probes.runtime import memory_lock

SIGHT = InTest("ping-pong", Words("fail", ("no_completion",)))
KNOWN = {
    *("paused", "silent", ""),
    *ports.REASONS,
    *device_files.REASONS,
    *gids.REASONS,
    *memory_lock.REASONS,
    *ping_pong.REASONS,
}


def test_what_is_not_as_wanted_is_marked():
    seen = Seen(as_wanted=False, status="pass", reason="", summary="it passed", seconds=1.26)
    assert cells(Row("drop", SIGHT, seen, None, "nothing")) == (
        "drop",
        "test: ping-pong",
        "! pass",
        "",
        "1.3",
        "not",
        "nothing",
    )


def test_what_came_and_what_went_is_left_behind():
    before, after = frozenset({"node-a link: up", "node-a qdisc: fq"}), frozenset({"node-a link: up", "node-a nft: x"})
    assert left_behind(before, after) == "+node-a nft: x; -node-a qdisc: fq"
    assert left_behind(before, before) == "nothing"


def test_every_fault_is_one_of_the_labs():
    assert {one.fault[0] for case in CASES for one in case.made} <= {fault.name for fault in FAULTS}


def test_every_wanted_reason_is_one_that_is_given():
    wanted = {reason for case in CASES for sight in case.sights for reason in sight.wanted.reasons}
    assert wanted <= KNOWN


def test_every_test_that_is_asked_for_is_planned():
    from deploy.faults.__main__ import PLAN

    planned = {spec.id for spec in load_plan(PLAN).pools[0].tests}
    sights = [sight for case in CASES for sight in case.sights]
    assert {sight.test for sight in sights if isinstance(sight, InTest | WhilePaused)} <= planned
