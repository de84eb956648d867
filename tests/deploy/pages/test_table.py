"""The table's texts, and what stands around it."""

import io
from dataclasses import replace

from rich.console import Console

from deploy.pages.cases import Wanted
from deploy.pages.drive import Row, Shown
from deploy.pages.table import cells, show
from tests.deploy.pages.test_judge import told

WANTED = Wanted("RDMAGateCheckFailed", "network", "warning", "node-b")
SHOWN = Shown(True, "", 0.43, 1000.0)
GOOD = Row(
    "link-down",
    WANTED,
    SHOWN,
    told_seconds=107.24,
    resolved_seconds=131.0,
    told=(told(at=1107.24), told("resolved", at=1400.0)),
    fired=("RDMAGateCheckFailed node-b access",),
    mistakes=(),
)
BAD = Row("netem", WANTED, Shown(False, "pass found", 9.0, 0.0), None, None, (), (), ("no notification found",))


def test_a_good_row_shows_its_seconds():
    assert cells(GOOD) == (
        "link-down",
        "RDMAGateCheckFailed node-b",
        "network",
        "warning",
        "0.4",
        "107.2",
        "1",
        "131.0",
    )


def test_what_an_open_ticket_is_told_of_is_counted_apart():
    again = replace(GOOD, told=(GOOD.told[0], told(at=1167.0), GOOD.told[1]))
    assert cells(again)[6] == "1 (+1)"


def test_a_bad_row_is_marked_and_shows_what_did_not_happen():
    assert cells(BAD) == ("netem", "! RDMAGateCheckFailed node-b", "network", "warning", "not", "not", "0", "not")


def test_every_notification_and_every_mistake_is_printed():
    text = io.StringIO()
    show(Console(file=text, width=170), [GOOD, BAD])
    lines = text.getvalue().splitlines()
    assert lines[:4] == [
        "link-down:",
        "     107.2 s  ticket for network: RDMAGateCheckFailed node-b access",
        "     400.0 s  ticket for network: resolved RDMAGateCheckFailed node-b access",
        "    fired: RDMAGateCheckFailed node-b access",
    ]
    assert lines[-2:] == ["netem: no notification found", "1 of 2 faults told as wanted, once, and resolved"]
