from dataclasses import replace

from exporter.fabric.expected import Mode, PathEnd, expected_paths
from exporter.fabric.rounds import (
    Cycle,
    Fabric,
    Result,
    blocked_by,
    judged_paths,
    next_cycle,
    next_due,
    sample_to_judge,
    telling,
    without_unready,
)
from probes import Status

MODES = {"same_rail": Mode("every_pair")}
ENDS = [PathEnd(node, "rxe0", "0") for node in "abcd"]
PATHS = expected_paths(ENDS, MODES)
IDLE = Fabric(frozenset(), 0, 2, {})
NOW, HOUR = 1_800_000_000.0, 3600.0
PASSED = {path.target: Result(NOW - 60 - number, Status.PASS) for number, path in enumerate(PATHS)}


def pick(
    results: dict[str, Result], *, blocked: frozenset[str] = frozenset(), fabric: Fabric = IDLE, now: float = NOW
) -> str | None:
    due = next_due(PATHS, results, blocked, fabric, now=now, every_seconds=HOUR)
    return due.path.target if due else None


def test_a_path_that_was_never_tested_comes_first():
    results = {target: result for target, result in PASSED.items() if target != "c:rxe0>a:rxe0"}
    assert pick(results, now=NOW + 2 * HOUR) == "c:rxe0>a:rxe0"


def test_nothing_is_due_before_its_interval_and_the_oldest_after_it():
    assert pick(PASSED) is None
    assert pick(PASSED, now=NOW + 2 * HOUR) == PATHS[-1].target


def test_a_result_from_before_the_clock_was_set_back_is_not_waited_for():
    assert pick(PASSED, now=NOW - HOUR) == PATHS[0].target


def test_a_cycle_from_before_the_clock_was_set_back_begins_again():
    passed = {path.target: Result(NOW - HOUR - 1, Status.PASS) for path in PATHS}
    assert next_cycle(Cycle(3, NOW), PATHS, [passed], now=NOW - HOUR, every_seconds=60.0) == Cycle(3, NOW - HOUR)


def test_a_missed_target_is_measured_again_before_anything_else():
    results = {"a:rxe0>b:rxe0": Result(NOW, Status.UNKNOWN, "unconfirmed")}
    assert pick(results) == "a:rxe0>b:rxe0"


def test_a_failure_comes_round_after_a_tenth_of_the_interval():
    failed = PASSED | {"b:rxe0>d:rxe0": Result(NOW, Status.FAIL, "no_completion")}
    assert pick(failed, now=NOW + 359) is None
    assert pick(failed, now=NOW + 360) == "b:rxe0>d:rxe0"


def test_a_blocked_path_and_paths_of_busy_or_unready_nodes_wait():
    blocked = frozenset({"a:rxe0>b:rxe0"})
    assert pick({}, blocked=blocked) == "a:rxe0>c:rxe0"
    assert pick({}, fabric=replace(IDLE, busy=frozenset("a"), running=1)) == "b:rxe0>c:rxe0"
    assert pick({}, fabric=replace(IDLE, busy=frozenset("ab"), unready={"c": "silent"}, running=1)) is None


def test_no_more_tests_run_at_once_than_the_budget_allows():
    assert pick({}, fabric=replace(IDLE, running=2)) is None


def test_tests_at_once_never_share_a_node_and_pass_over_all_paths():
    results: dict[str, Result] = {}
    for step in range(len(PATHS) // 2):
        first = next_due(PATHS, results, frozenset(), IDLE, now=NOW + step, every_seconds=HOUR)
        assert first
        busy = replace(IDLE, busy=first.path.nodes, running=1)
        second = next_due(PATHS, results, frozenset(), busy, now=NOW + step, every_seconds=HOUR)
        assert second
        assert not first.path.nodes & second.path.nodes
        results |= {due.path.target: Result(NOW + step, Status.PASS) for due in (first, second)}
    assert len(results) == len(PATHS)


def test_paths_of_nodes_that_cannot_take_part_are_listed_with_why():
    testable, left_out = without_unready(PATHS, {"d": "silent"})
    assert {path.target for path in testable} == {path.target for path in PATHS if "d" not in path.nodes}
    assert [(path.target, why) for path, why in left_out][:2] == [
        ("a:rxe0>d:rxe0", "d silent"),
        ("b:rxe0>d:rxe0", "d silent"),
    ]
    assert len(testable) + len(left_out) == len(PATHS)


def test_a_path_test_waits_for_access_and_runtime_of_its_own_two_ends_alone():
    path = PATHS[0]
    ready = {"a": frozenset({"access", "runtime"}), "b": frozenset({"access", "runtime"})}
    assert blocked_by(path, "connectivity", ready, frozenset()) == ""
    missing = ready | {"b": frozenset({"access"})}
    assert blocked_by(path, "connectivity", missing, frozenset()) == "b: runtime has not passed, it comes first"
    assert blocked_by(path, "connectivity", {}, frozenset()) == "a: access has not passed, it comes first"


def test_a_transfer_waits_for_the_connectivity_of_its_own_path():
    path = PATHS[0]
    ready = {node: frozenset({"access", "runtime"}) for node in "ab"}
    assert blocked_by(path, "transfers", ready, frozenset({path.target})) == ""
    assert (
        blocked_by(path, "transfers", ready, frozenset({"b:rxe0>a:rxe0"}))
        == "a:rxe0>b:rxe0: connectivity has not passed, it comes first"
    )


def test_a_cycle_ends_when_every_test_has_a_result_on_each_path_and_its_time_is_over():
    cycle = Cycle(4, NOW - HOUR)
    fresh = {path.target: Result(NOW - 1, Status.FAIL, "no_completion") for path in PATHS}
    assert next_cycle(cycle, PATHS, [fresh, fresh], now=NOW, every_seconds=HOUR) == Cycle(5, NOW)
    assert next_cycle(cycle, PATHS, [fresh, fresh], now=NOW - 1, every_seconds=HOUR) == cycle
    old = fresh | {PATHS[3].target: Result(NOW - 2 * HOUR, Status.PASS)}
    assert next_cycle(cycle, PATHS, [fresh, old], now=NOW, every_seconds=HOUR) == cycle
    assert next_cycle(cycle, PATHS, [fresh, {}], now=NOW, every_seconds=HOUR) == cycle
    assert next_cycle(cycle, (), [], now=NOW, every_seconds=HOUR) == cycle


def test_a_verdict_needs_its_sample_and_whatever_else_speaks():
    modes = {"same_rail": Mode("sampled", peers_per_hca=2)}
    ends = [PathEnd(node, "rxe0", "0") for node in "abcdefg"]
    first, second = ({path.target for path in expected_paths(ends, modes, number)} for number in (0, 1))
    assert not first & second
    tested = frozenset({min(second), "gone:rxe0>a:rxe0"})
    sample = expected_paths(ends, modes, 0)
    assert {path.target for path in judged_paths(ends, sample, tested)} == first | {min(second)}


def test_a_sample_counts_once_each_of_its_paths_has_its_result() -> None:
    cycle, before = Cycle(3, NOW), {path.target: Result(NOW - 1, Status.PASS) for path in PATHS}
    since = {path.target: Result(NOW, Status.PASS) for path in PATHS}
    assert sample_to_judge(cycle, PATHS, before) == 2
    assert sample_to_judge(cycle, PATHS, {**since, PATHS[0].target: Result(NOW - 1, Status.PASS)}) == 2
    assert sample_to_judge(cycle, PATHS, since) == 3
    assert sample_to_judge(Cycle(0, NOW), PATHS, {}) == 0


def test_beyond_its_sample_a_fault_speaks_until_it_passes_and_all_else_while_it_is_fresh() -> None:
    results = {
        "old pass": Result(NOW - 2 * HOUR, Status.PASS),
        "new pass": Result(NOW, Status.PASS),
        "old fault": Result(NOW - 2 * HOUR, Status.FAIL, "retry_exceeded"),
        "of another plan": Result(NOW, Status.PASS),
        "fault of another plan": Result(NOW, Status.FAIL, "retry_exceeded"),
        "old doubt": Result(NOW - 2 * HOUR, Status.UNKNOWN, "control_tcp"),
        "old miss": Result(NOW - 2 * HOUR, Status.UNKNOWN, "unconfirmed"),
    }
    counting = {name: result for name, result in results.items() if "another plan" not in name}
    speaking = telling(results, counting, now=NOW, fresh_seconds=HOUR)
    assert speaking == {"new pass", "old fault", "fault of another plan", "old miss"}
