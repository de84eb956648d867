"""A group's nodes take no other test once its turn has come, and everybody else goes on."""

from exporter.assignment import ProbeSpec
from exporter.fabric.expected import ExpectedPath, PathEnd
from exporter.fabric.group_outlook import WaitingGroup
from exporter.fabric.group_rounds import GroupTurn
from exporter.fabric.groups import group_of
from exporter.fabric.jobs import GroupJob, PathJob
from exporter.fabric.outlook import Waiting
from exporter.fabric.rounds import Fabric, Result
from exporter.fabric.turns import Turns
from exporter.plan import GroupTest, Nodes, PlannedGroups, Pool
from probes import Status

NOW = 10_000.0
POOL = Pool("p", Nodes())
PING = ProbeSpec("connectivity.ping_pong", "ping", every_seconds=10.0)
TEST = GroupTest(ProbeSpec("transfers.collectives", "ar"), PlannedGroups(8, nodes_per_group=2))


def path(client: str, server: str) -> ExpectedPath:
    return ExpectedPath(PathEnd(client, "rxe0", "0"), PathEnd(server, "rxe0", "0"), "same_rail")


def turns(
    *groups: tuple[str, float],
    paths: tuple[ExpectedPath, ...] = (),
    tested: float = NOW - 100,
    status: Status = Status.PASS,
) -> Turns:
    results = {one.target: Result(tested, status) for one in paths}
    renews = status is Status.PASS
    turn_in = [GroupTurn(2, since, group_of(nodes, 8), renews=renews) for nodes, since in groups]
    waiting = [WaitingGroup(turn, POOL, TEST) for turn in turn_in]
    return Turns([Waiting(POOL, PING, paths, results, NOW)] if paths else [], waiting)


def fabric(busy: str = "", at_once: int = 4, unready: str = "") -> Fabric:
    return Fabric(frozenset(busy), len(busy) // 2, at_once, dict.fromkeys(unready, "silent"))


def test_the_one_that_waits_longest_goes_first():
    both = turns(("ab", NOW - 50), paths=(path("c", "d"),))
    assert both.next(fabric()) == PathJob(POOL, PING, path("c", "d"))
    both = turns(("ab", NOW - 500), paths=(path("c", "d"),))
    assert both.next(fabric()) == GroupJob(POOL, TEST.spec, group_of("ab", 8), searches=False)


def test_a_group_whose_node_is_busy_keeps_its_other_nodes_free_and_lets_strangers_pass():
    waits = turns(("ab", NOW - 500), paths=(path("b", "c"),))
    assert waits.next(fabric(busy="ad")) is None
    waits = turns(("ab", NOW - 500), paths=(path("b", "c"), path("e", "f")))
    assert waits.next(fabric(busy="ad")) == PathJob(POOL, PING, path("e", "f"))


def test_a_later_group_of_free_nodes_does_not_wait_for_the_first():
    waits = turns(("ab", NOW - 500), ("cd", NOW - 400), ("be", NOW - 450))
    assert waits.next(fabric(busy="ax")) == GroupJob(POOL, TEST.spec, group_of("cd", 8), searches=False)


def test_nothing_runs_beyond_the_number_of_tests_at_once_nor_on_a_node_that_is_unready():
    assert turns(("ab", 0.0)).next(fabric(busy="cd", at_once=1)) is None
    assert turns(("ab", 0.0)).next(fabric(unready="b")) is None


def test_what_has_ended_meanwhile_has_no_turn():
    ended = turns(("ab", 0.0)).without({("ar", group_of("ab", 8).target)})
    assert ended.next(fabric()) is None


def test_who_has_no_end_is_lacking_where_something_due_waits_for_him_with_another_that_is_there():
    due = turns(("abc", NOW - 50), paths=(path("a", "b"), path("c", "d"), path("e", "f"), path("a", "g")))
    assert due.lacking(set("bdcg"), unready=set("g")) == {"b": set("a"), "c": set("a")}
    assert due.lacking(set(), unready=set()) == {}
    assert due.lacking(set("cd"), unready=set("a")) == {}


def test_where_nobody_has_an_end_only_what_has_not_passed_waits_for_anybody():
    found = turns(("ab", NOW - 50), paths=(path("c", "d"),), status=Status.FAIL)
    assert found.lacking(set("abcd"), unready=set()) == {node: set() for node in "abcd"}
    assert found.lacking(set("abcd"), unready=set("ad")) == {}
    assert turns(("ab", NOW - 50), paths=(path("c", "d"),)).lacking(set("abcd"), unready=set()) == {}


def test_a_path_that_was_never_tested_waits_for_both_ends():
    untested = Turns([Waiting(POOL, PING, (path("c", "d"),), {}, NOW)])
    assert untested.lacking(set("cd"), unready=set()) == {"c": set(), "d": set()}
