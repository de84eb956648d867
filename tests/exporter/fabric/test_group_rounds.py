"""Whose turn it is: retests, then the untested, then the oldest; and what tells which node made a group fail."""

from dataclasses import dataclass, field

from exporter.fabric.group_rounds import GroupMoment
from exporter.fabric.groups import ExpectedGroup, group_of
from exporter.gate.group_blame import Blame, blamed_nodes
from exporter.gate.group_results import GroupResult, facts_of_group, group_results
from exporter.ledger import Record
from probes import End, Finding, Run, Status, Subject

NOW, EVERY = 10_000.0, 3600.0


@dataclass
class Tests:
    """The last results of one test in pairs, by their nodes; ``turns`` are those that are due."""

    __test__ = False

    nodes: str = "abcd"
    size: int = 2
    groups: tuple[str, ...] = ()
    results: dict[str, Record] = field(default_factory=dict)

    def saw(self, nodes: str, status: str, ago: float, reason: str = "", *, about: str = "", purpose: str = "plan"):
        group = group_of(nodes, 8)
        ends = tuple(End(node) for node in about)
        facts = {**facts_of_group(group.name, group.nodes, 16, searches=purpose != "plan")}
        found = Finding(Subject(nodes[0], group=group.name), Status(status), reason, "", about=ends, facts=facts)
        run = Run("transfers.collectives", "ar", group.target, "host", (found,), 0, 1, "digest", "boot", "0.1")
        self.results[nodes] = Record(len(self.results), NOW - ago, run)
        return self

    def read(self) -> tuple[GroupResult, ...]:
        return group_results({record.key: record for record in self.results.values()})["transfers.collectives", "ar"]

    def of(self, nodes: str) -> GroupResult:
        return next(one for one in self.read() if one.nodes == tuple(nodes))

    def moment(self) -> GroupMoment:
        expected = tuple(group_of(nodes, 8) for nodes in self.groups)
        results = self.read() if self.results else ()
        return GroupMoment(expected, results, Blame(results), frozenset(self.nodes), 8, self.size, NOW, EVERY)

    def turns(self) -> list[tuple[int, str, bool]]:
        return [(turn.rank, "".join(turn.group.nodes), turn.searches) for turn in sorted(self.moment().turns())]


def test_groups_of_nodes_that_were_never_tested_are_due_at_once():
    assert Tests(groups=("ab", "cd")).turns() == [(1, "ab", False), (1, "cd", False)]


def test_a_group_is_due_when_the_result_of_one_of_its_nodes_is_old():
    tests = Tests(groups=("ac", "bd")).saw("ab", "pass", 3599).saw("cd", "pass", 3601)
    assert tests.turns() == [(2, "ac", False), (2, "bd", False)]
    assert Tests(groups=("ac",)).saw("ab", "pass", 10).saw("cd", "pass", 3599).turns() == []


def test_what_is_unconfirmed_is_tested_again_as_it_was_before_anything_else():
    tests = Tests(groups=("ac", "bd")).saw("ab", "unknown", 5, "unconfirmed").saw("cd", "pass", 5000)
    assert tests.turns()[0] == (0, "ab", False)


def test_a_result_of_the_future_is_none():
    assert Tests(groups=("ab",)).saw("ab", "pass", -500).turns() == [(1, "ab", False)]


def test_a_fault_without_blame_has_each_node_tried_with_a_good_one_outside():
    tests = Tests().saw("cd", "pass", 100).saw("ab", "fail", 10, "no_completion")
    assert tests.turns() == [(1, "ac", False), (1, "bd", False)]


def test_a_witness_that_was_heard_since_is_not_asked_again_and_tells_the_blame():
    tests = Tests().saw("cd", "pass", 100).saw("ab", "fail", 10, "no_completion").saw("ac", "fail", 5, "no_completion")
    assert tests.turns() == [(1, "bd", False)]
    assert blamed_nodes(tests.of("ab"), tests.read()) == {"a", "b"}
    tests.saw("bd", "pass", 2)
    assert blamed_nodes(tests.of("ab"), tests.read()) == {"a"}
    assert blamed_nodes(tests.of("ac"), tests.read()) == {"a"}
    assert tests.turns() == []


def test_two_nodes_alone_are_tried_each_by_itself():
    tests = Tests(nodes="ab").saw("ab", "fail", 10, "no_completion")
    assert tests.turns() == [(1, "a", True), (1, "b", True)]
    tests.saw("a", "pass", 5, purpose="blame").saw("b", "pass", 5, purpose="blame")
    assert tests.turns() == []
    assert blamed_nodes(tests.of("ab"), tests.read()) == {"a", "b"}
    tests.saw("b", "fail", 4, "gpu_error", purpose="blame")
    assert blamed_nodes(tests.of("ab"), tests.read()) == {"b"}


def test_of_a_whole_pool_the_halves_are_tried_and_then_each_node_of_the_failing_one():
    tests = Tests(size=0).saw("abcd", "fail", 10, "no_completion")
    assert tests.turns() == [(1, "ab", True), (1, "cd", True)]
    tests.saw("ab", "pass", 9, purpose="blame").saw("cd", "fail", 8, "no_completion", purpose="blame")
    assert tests.turns() == [(1, "ac", True), (1, "bd", True)]
    tests.saw("ac", "pass", 7, purpose="blame").saw("bd", "fail", 6, "no_completion", purpose="blame")
    assert blamed_nodes(tests.of("abcd"), tests.read()) == {"d"}
    assert tests.turns() == []


def test_two_nodes_at_fault_do_not_hide_each_other_behind_the_good_node_that_met_both():
    tests = Tests().saw("ac", "pass", 800)
    for node, ago in (("b", 700), ("d", 600)):
        tests.saw(node, "fail", ago, "gpu_error", purpose="blame")
    tests.saw("ab", "fail", 100, "no_completion").saw("ad", "fail", 50, "no_completion")
    assert (blamed_nodes(tests.of("ab"), tests.read()), blamed_nodes(tests.of("ad"), tests.read())) == ({"b"}, {"d"})
    assert tests.turns() == []


def test_a_node_that_failed_alone_and_passed_since_explains_no_fault_of_others():
    tests = Tests().saw("ac", "pass", 800).saw("b", "fail", 700, "gpu_error", purpose="blame").saw("bd", "pass", 200)
    tests.saw("ab", "fail", 100, "no_completion")
    assert blamed_nodes(tests.of("ab"), tests.read()) == {"a", "b"}


def test_a_known_fault_frees_no_partner_that_has_not_passed_without_it():
    tests = Tests().saw("b", "fail", 700, "gpu_error", purpose="blame").saw("ab", "fail", 100, "no_completion")
    assert blamed_nodes(tests.of("ab"), tests.read()) == {"a", "b"}


def test_a_failing_group_is_tested_again_sooner_and_not_while_a_node_is_away():
    tests = Tests().saw("ab", "fail", 361, "tcp_fallback", about="b")
    assert tests.turns() == [(2, "ab", False)]
    tests.nodes = "acd"
    assert tests.turns() == []


def test_a_node_that_is_blamed_by_the_finding_leaves_the_others_without_proof():
    tests = Tests(groups=("ac",)).saw("ab", "unknown", 5, "nccl_missing", about="b").saw("cd", "pass", 5)
    assert tests.moment().proof_of("a") is None
    assert tests.turns() == [(1, "ac", False)]


def test_a_planned_group_keeps_its_name_when_it_is_tested_again():
    moment = Tests(size=0).saw("ab", "fail", 5000, "tcp_fallback", about="a").moment()
    assert [turn.group for turn in moment.turns()] == [ExpectedGroup("a+b", ("a", "b"), 8)]


def test_what_could_not_tell_of_no_node_is_tested_sooner_with_the_partners_of_the_turn():
    tests = Tests(groups=("ac", "bd")).saw("ab", "unknown", 300, "no_channels").saw("cd", "pass", 5)
    assert tests.turns() == []
    assert tests.saw("ab", "unknown", 361, "no_channels").turns() == [(2, "ac", False), (2, "bd", False)]


def test_what_could_not_tell_because_of_one_node_is_tested_again_as_it_was_for_that_node():
    tests = Tests().saw("ab", "unknown", 361, "nccl_missing", about="b").saw("ac", "pass", 5)
    assert tests.turns() == [(2, "ab", False)]
    assert tests.saw("bc", "pass", 2).turns() == []
