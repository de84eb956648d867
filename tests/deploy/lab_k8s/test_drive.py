from typing import cast

import pytest

from deploy.faults.sights import Seen
from deploy.lab_k8s.breakage import nothing
from deploy.lab_k8s.cases import CASES, Case, Sight, Steady, Takeover
from deploy.lab_k8s.drive import Row, drive
from deploy.lab_k8s.table import cells, is_good
from tests.deploy.lab_k8s.played import PlayedCluster, PlayedGates, gates, view

OPEN = view({}, is_open=True)
ZERO = {"visibility": ("failed", "visibility.allocatable", "fail", "resource_zero")}
SETTLING = {"visibility": ("unknown", "visibility.allocatable", "unknown", "settling")}


def done_to(played: PlayedGates) -> list[str]:
    return cast("PlayedCluster", played.cluster).done


def driven(played: PlayedGates, *sights: Sight | Steady | Takeover) -> list[Row]:
    done = done_to(played)
    case = Case("a fault", lambda _: done.append("made"), lambda _: done.append("undone"), sights)
    return drive(played, case)


def seen(played: PlayedGates, *sights: Sight | Steady | Takeover) -> tuple[bool, str, str]:
    (row,) = driven(played, *sights)
    return row.seen.as_wanted, row.seen.status, row.seen.reason


def count(*reasons: str) -> Sight:
    return Sight("visibility.allocatable", "fail", reasons, limit_seconds=0)


def test_a_finding_as_stated_is_seen_and_the_fault_is_undone() -> None:
    played = gates(node_a=[OPEN, OPEN, view(ZERO), OPEN])
    assert seen(played, count("resource_zero")) == (True, "fail", "resource_zero")
    assert done_to(played) == ["made", "undone"]


def test_each_step_is_told_of_with_what_was_wanted_where_that_was_not_seen() -> None:
    played = gates(node_a=[OPEN, OPEN, view(ZERO), view(ZERO), OPEN])
    driven(played, count("resource_zero"), count("wrong_count"))
    assert cast("PlayedCluster", played.cluster).told == [
        "visibility.allocatable: fail resource_zero after 0 s, as stated",
        "found, wanted",
        "visibility.allocatable: fail resource_zero after 0 s, NOT as stated, fail wrong_count wanted",
        "found, wanted",
        "undone, open again after 0 s",
    ]


def test_another_reason_is_not_what_was_stated() -> None:
    assert seen(gates(node_a=[OPEN, OPEN, view(ZERO), OPEN]), count("wrong_count")) == (False, "fail", "resource_zero")


def test_any_reason_does_where_none_is_stated() -> None:
    assert seen(gates(node_a=[OPEN, OPEN, view(ZERO), OPEN]), count()) == (True, "fail", "resource_zero")


def test_a_gate_that_does_not_lead_is_not_believed() -> None:
    standby = view(ZERO, leads=False)
    assert seen(gates(node_a=[OPEN, OPEN, standby, OPEN]), count()) == (False, "", "no gate leads")


def test_the_finding_that_is_stated_counts_among_those_of_one_probe() -> None:
    shown = view(ZERO)
    (cell,) = shown["pools"][0]["nodes"][0]["cells"]
    cell["findings"].append({**cell["findings"][0], "status": "pass", "reason": ""})
    assert seen(gates(node_a=[OPEN, OPEN, shown, OPEN]), count("resource_zero")) == (True, "fail", "resource_zero")


def test_nothing_is_seen_where_nobody_answers() -> None:
    assert seen(gates(node_a=[OPEN, OPEN, None, OPEN]), count()) == (False, "", "no gate leads")


def test_a_zero_that_settles_is_steady() -> None:
    played = gates(node_a=[OPEN, OPEN, view(SETTLING), OPEN])
    assert seen(played, Steady("visibility", ("failed",), seconds=0)) == (True, "unknown", "settling")


def test_a_failure_ends_the_watch_at_once() -> None:
    played = gates(node_a=[OPEN, OPEN, view(ZERO), OPEN])
    assert seen(played, Steady("visibility", ("failed",), seconds=1e9)) == (False, "failed", "resource_zero")


def test_the_same_gate_goes_on_leading_is_no_takeover() -> None:
    assert seen(gates(node_a=[OPEN], node_b=[None]), Takeover(limit_seconds=0)) == (False, "", "")


def test_another_gate_that_leads_is_a_takeover() -> None:
    played = gates(node_a=[OPEN, OPEN, None], node_b=[OPEN])
    assert seen(played, Takeover(limit_seconds=0)) == (True, "another leads", "")


def test_another_gate_that_leads_without_what_the_first_knew_is_none() -> None:
    played = gates(node_a=[OPEN, OPEN, None, OPEN], node_b=[view({}), OPEN])
    (row,) = driven(played, Takeover(limit_seconds=0))
    assert (row.seen.as_wanted, row.seen.status, row.seen.summary) == (False, "another leads", "closed")


def test_nothing_is_steady_where_nobody_answers() -> None:
    played = gates(node_a=[OPEN, OPEN, None, OPEN])
    assert seen(played, Steady("visibility", ("failed",), seconds=0)) == (False, "no gate leads", "")


def test_a_fault_that_cannot_be_made_is_undone_all_the_same() -> None:
    played = gates(node_a=[OPEN])

    def refuse(_: object) -> None:
        raise RuntimeError("refused")

    case = Case("a fault", refuse, lambda _: done_to(played).append("undone"), (count(),))
    with pytest.raises(RuntimeError, match="refused"):
        drive(played, case)
    assert done_to(played) == ["undone"]


def test_the_table_marks_what_was_not_seen_as_stated() -> None:
    good = Row("a", "visibility", "fail", Seen(True, "fail", "resource_zero", "", 12.4), 3.2)
    bad = Row("b", "visibility", "fail", Seen(False, "pass", "", "", 240.0), None)
    assert cells(good) == ("a", "visibility", "fail", "resource_zero", "12", "3")
    assert cells(bad) == ("b", "visibility", "! pass", "", "240", "not")
    assert (is_good(good), is_good(bad)) == (True, False)


def test_every_case_has_a_title_of_its_own_and_something_to_see() -> None:
    assert len({case.title for case in CASES}) == len(CASES)
    assert all(case.sights and case.make is not nothing for case in CASES)
