"""A plan says what it costs before anything is sent, and is refused when its own budget cannot satisfy it."""

import pytest

from exporter.fabric.expected import Mode, PathEnd, expected_paths
from exporter.plan.cost import bytes_of_run, plan_cost
from exporter.plan.load import parse_plan
from exporter.settings import KnownMember

SAMPLED = "{same_rail: {mode: sampled, peers_per_hca: 8}, cross_rail: {mode: one_per_rail_pair}}"


def cost(text, modules, members=()):
    return plan_cost(parse_plan(text, modules), members, lambda spec: bytes_of_run(modules, spec))


def test_the_cost_of_a_small_plan(changed, modules):
    (pool,) = cost(changed(("cross_rail: {mode: one_per_rail_pair}", "")), modules).pools
    volume = 1600 * 2**20
    assert (pool.pool, pool.nodes, pool.paths, pool.cycles, pool.unpriced) == ("h100", 2, 4, 1, ())
    assert pool.bytes_per_node_per_hour == pytest.approx(4 * volume / 6)
    assert (pool.busy_share, pool.hours_to_full_coverage) == (pytest.approx(4 * 5 / 21600), 6.0)


@pytest.mark.parametrize("nodes", [1, 2, 3, 4, 7, 8, 20])
@pytest.mark.parametrize(
    "modes",
    [
        {"same_rail": ("every_pair", 2, 1)},
        {"same_rail": ("sampled", 1, 1)},
        {"same_rail": ("sampled", 4, 1)},
        {"same_rail": ("sampled", 4, 1), "cross_rail": ("one_per_rail_pair", 2, 3)},
        {"same_rail": ("sampled", 2, 1), "cross_rail": ("every_pair", 2, 1)},
    ],
)
def test_the_number_of_paths_is_that_which_the_fabric_will_test(changed, modules, nodes, modes):
    texts = []
    for name, (mode, peers, samples) in modes.items():
        number = "" if mode == "every_pair" else f", {'peers_per_hca' if name == 'same_rail' else 'samples'}: "
        count = "" if mode == "every_pair" else str(peers if name == "same_rail" else samples)
        texts.append(f"{name}: {{mode: {mode}{number}{count}}}")
    names = [f"n{number}" for number in range(nodes)]
    text = changed((SAMPLED, f"{{{', '.join(texts)}}}"), ("gpu-001, gpu-002", ", ".join(names)))
    ends = [PathEnd(name, f"mlx5_{rail}", str(rail)) for name in names for rail in range(2)]
    wanted = expected_paths(ends, {name: Mode(*one) for name, one in modes.items()})
    assert cost(text, modules).pools[0].paths == len(wanted)


def test_racks_come_from_the_members_labels(changed, modules):
    racks = {"n0": "r1", "n1": "r1", "n2": "r2", "n3": "r2"}
    members = [KnownMember(name, "http://x", {}, {"topology.example/rack": rack}) for name, rack in racks.items()]
    paths = "{same_rail: {mode: sampled, peers_per_hca: 1}, cross_rack: {mode: per_rack_pair, samples: 2}}"
    text = changed((SAMPLED, paths), ("gpu-001, gpu-002", ", ".join(racks)))
    assert cost(text, modules, members).pools[0].paths == 2 * (8 + 2 * 2)


def test_a_plan_whose_tests_need_more_bytes_than_it_allows_is_refused(changed, modules):
    problems = cost(changed(("20GiB", "1GiB")), modules).problems
    assert problems == (
        "budget.bytes_per_node_per_hour: 1073741824 found, 1.68e+09 bytes a node and hour needed by the tests of h100",
        "bw-large: one run sends 1677721600 bytes, more than the whole budget of an hour",
    )


def test_a_plan_whose_tests_need_more_time_than_there_is_is_refused(changed, modules):
    names = ", ".join(f"n{number}" for number in range(40))
    text = changed(("gpu-001, gpu-002", names), ("every: 6h", "every: 10m"), ("20GiB", "2000GiB"))
    assert cost(text, modules).problems == ("budget.tests_at_once: 1 found, 6 needed: tests would never end",)


def test_a_probe_that_does_not_say_what_it_sends_is_named(changed, modules):
    plan = parse_plan(changed(), modules)
    assert plan_cost(plan, (), lambda _spec: None).pools[0].unpriced == ("bw-large",)


def test_before_the_nodes_of_a_selector_are_known_as_many_as_must_be_open_are_priced(changed, modules):
    text = changed(("{names: [gpu-001, gpu-002], at_least: 1}", '{selector: "gpu=h100", at_least: 4}'))
    found = [KnownMember("gpu-001", "http://x", {}, {"gpu": "h100"})]
    assert [cost(text, modules, members).pools[0].nodes for members in ((), found)] == [4, 4]
