import pytest

from exporter.fabric.expected import ExpectedPath, Mode, PathEnd, expected_paths, path_named

EVERY = Mode("every_pair")


def ends(nodes: int, rails: int = 1, racks: int = 1, pool: str = "p") -> list[PathEnd]:
    return [
        PathEnd(f"n{node:02}", f"mlx5_{rail}", str(rail), pool, f"rack{node % racks}")
        for node in range(nodes)
        for rail in range(rails)
    ]


def pairs(paths: tuple[ExpectedPath, ...]) -> set[str]:
    return {path.target for path in paths}


def test_every_pair_of_a_rail_is_expected_in_both_directions():
    found = expected_paths(ends(3, rails=2), {"same_rail": EVERY})
    assert [path.target for path in found if path.client.node == "n00"] == [
        "n00:mlx5_0>n01:mlx5_0",
        "n00:mlx5_0>n02:mlx5_0",
        "n00:mlx5_1>n01:mlx5_1",
        "n00:mlx5_1>n02:mlx5_1",
    ]
    assert len(found) == 2 * 3 * 2
    assert {path.path_class for path in found} == {"same_rail"}


def test_one_node_or_no_node_expects_nothing():
    assert expected_paths(ends(1, rails=8), {"same_rail": EVERY, "cross_rail": EVERY}) == ()
    assert expected_paths([], {"same_rail": Mode("sampled")}) == ()


def test_pools_are_tested_each_by_itself():
    both = [*ends(2), *(PathEnd(f"m{n}", "mlx5_0", "0", "other") for n in range(2))]
    assert pairs(expected_paths(both, {"same_rail": EVERY})) == {
        "n00:mlx5_0>n01:mlx5_0",
        "n01:mlx5_0>n00:mlx5_0",
        "m0:mlx5_0>m1:mlx5_0",
        "m1:mlx5_0>m0:mlx5_0",
    }


@pytest.mark.parametrize("nodes", [2, 3, 4, 7, 8])
@pytest.mark.parametrize("peers", [1, 2, 4])
def test_samples_give_every_hca_its_peers_and_over_the_cycles_every_pair(nodes: int, peers: int):
    members, modes = ends(nodes), {"same_rail": Mode("sampled", peers_per_hca=peers)}
    everything: set[str] = set()
    for cycle in range(nodes):
        sample = expected_paths(members, modes, cycle)
        reached = {
            end.node: {path.server.node for path in sample if path.client == end}
            | {path.client.node for path in sample if path.server == end}
            for end in members
        }
        assert min(map(len, reached.values())) >= min(peers, nodes - 1)
        assert pairs(sample) == {f"{path.server}>{path.client}" for path in sample}
        everything |= pairs(sample)
    assert everything == pairs(expected_paths(members, {"same_rail": EVERY}))


def test_a_sample_is_the_same_whatever_the_order_of_its_ends():
    modes = {"same_rail": Mode("sampled")}
    assert expected_paths(ends(9), modes, 5) == expected_paths(ends(9)[::-1], modes, 5)


def test_one_path_per_ordered_pair_of_rails_moves_on_with_the_cycle():
    modes = {"cross_rail": Mode("one_per_rail_pair")}
    found = expected_paths(ends(3, rails=3), modes)
    assert sorted((path.client.rail, path.server.rail) for path in found) == [
        ("0", "1"),
        ("0", "2"),
        ("1", "0"),
        ("1", "2"),
        ("2", "0"),
        ("2", "1"),
    ]
    assert all(path.client.node != path.server.node for path in found)
    over_time = {path.target for cycle in range(9) for path in expected_paths(ends(3, rails=3), modes, cycle)}
    assert over_time == pairs(expected_paths(ends(3, rails=3), {"cross_rail": EVERY}))


def test_every_ordered_pair_of_racks_is_sampled_per_rail_and_covered_over_time():
    modes = {"cross_rack": Mode("per_rack_pair", samples=2)}
    found = expected_paths(ends(6, racks=2), modes)
    assert sorted((path.client.rack, path.server.rack) for path in found) == [
        ("rack0", "rack1"),
        ("rack0", "rack1"),
        ("rack1", "rack0"),
        ("rack1", "rack0"),
    ]
    over_time = {path.target for cycle in range(5) for path in expected_paths(ends(6, racks=2), modes, cycle)}
    assert over_time == pairs(expected_paths(ends(6, racks=2), {"cross_rack": EVERY}))


def test_a_path_that_two_classes_want_is_expected_once():
    found = expected_paths(ends(2, racks=2), {"same_rail": EVERY, "cross_rack": EVERY})
    assert [(path.target, path.path_class) for path in found] == [
        ("n00:mlx5_0>n01:mlx5_0", "same_rail"),
        ("n01:mlx5_0>n00:mlx5_0", "same_rail"),
    ]


@pytest.mark.parametrize("name", ["same_rail", "cross_rail", "cross_rack"])
def test_an_unknown_mode_is_an_error_that_names_the_allowed_ones(name: str):
    with pytest.raises(ValueError, match=rf"paths\.{name}\.mode: 'some' found, every_pair or \w+ wanted"):
        expected_paths(ends(4, rails=2, racks=2), {name: Mode("some")})


def test_a_target_is_found_again_by_its_ends():
    members = {str(end): end for end in ends(2, rails=2, racks=2)}
    for target, path_class in [("n00:mlx5_0>n01:mlx5_1", "cross_rail"), ("n00:mlx5_0>n01:mlx5_0", "cross_rack")]:
        path = path_named(target, members)
        assert path is not None
        assert (path.target, path.path_class) == (target, path_class)
    assert path_named("gone:mlx5_0>n01:mlx5_0", members) is None
