"""A fault that names no end is laid at the end that fails with several peers, where the other is known to be good."""

import itertools

import pytest

from exporter.gate.blame import PathState, lone_end
from exporter.gate.verdict import CheckStatus
from tests.exporter.gate.conftest import World

PING = "connectivity.ping_pong"
DROPPED = ("fail", "no_completion", ())


def world_of(names: str) -> World:
    return World(names=tuple(names)).pass_all()


def break_paths(world: World, *paths: str, fault=DROPPED) -> None:
    for client, server in paths:
        world.path(PING, client, server, fault)


def failing(peer: str) -> PathState:
    return PathState(peer, passes=False, faulty=True, certain=True)


def passing(peer: str) -> PathState:
    return PathState(peer, passes=True, faulty=False, certain=False)


def connectivity(world: World) -> list[str]:
    return [world.check(node, "connectivity").status.value for node in world.names]


def test_a_node_that_fails_with_everybody_closes_itself_alone():
    world = world_of("abc")
    break_paths(world, "ab", "ba", "cb", "bc")
    assert connectivity(world) == ["pass", "failed", "pass"]
    assert world.check("a", "connectivity").left_out == (
        "a:mlx5_0>b:mlx5_0: a:mlx5_0>b:mlx5_0 is blamed on b",
        "b:mlx5_0>a:mlx5_0: b:mlx5_0>a:mlx5_0 is blamed on b",
    )


def test_the_second_peer_decides_while_other_paths_of_the_node_still_show_an_older_pass():
    world = world_of("abcd")
    break_paths(world, "ab")
    assert connectivity(world) == ["failed", "failed", "pass", "pass"]
    break_paths(world, "cb")
    assert connectivity(world) == ["pass", "failed", "pass", "pass"]


def test_one_bad_path_tells_nothing_about_its_ends():
    world = world_of("abc")
    break_paths(world, "ab", "ba")
    assert connectivity(world) == ["failed", "failed", "pass"]


def test_two_nodes_have_nobody_who_could_tell():
    world = world_of("ab")
    break_paths(world, "ab", "ba")
    assert connectivity(world) == ["failed", "failed"]


def test_two_bad_nodes_among_many_close_themselves_alone():
    world = world_of("abcdef")
    break_paths(world, *(f"{bad}{good}" for bad, good in itertools.product("ab", "cdef")), "ab")
    assert connectivity(world) == ["failed", "failed", "pass", "pass", "pass", "pass"]


def test_a_fabric_in_two_halves_leaves_the_blame_open():
    world = world_of("abcd")
    break_paths(world, *(f"{one}{other}" for one, other in itertools.product("ab", "cd")))
    assert connectivity(world) == ["failed"] * 4


def test_nobody_is_good_where_nothing_passes():
    world = world_of("abc")
    break_paths(world, "ab", "bc", "ca")
    assert connectivity(world) == ["failed"] * 3


def test_a_slow_moment_between_two_good_nodes_leaves_the_blame_where_it_is():
    world = world_of("abc")
    break_paths(world, "ab", "ba", "cb", "bc")
    break_paths(world, "ac", fault=("unknown", "unconfirmed", ()))
    assert connectivity(world) == ["unknown", "failed", "unknown"]


def test_a_fault_stays_at_its_end_until_its_path_is_tested_again():
    world = world_of("abc")
    break_paths(world, "ab", "ba", "cb", "bc")
    world.more["told"] = world.verdict().told
    break_paths(world, "cb", "bc", fault=("pass", "", ()))
    assert connectivity(world) == ["pass", "failed", "pass"]
    world.path(PING, "a", "b", DROPPED, received=world.now - 5)
    assert connectivity(world) == ["failed", "failed", "pass"]


def test_nobody_is_blamed_where_both_ends_look_like_the_bad_one():
    world = world_of("abcd")
    break_paths(world, "ab")
    break_paths(world, "ac", "bd", fault=("unknown", "unconfirmed", ()))
    assert connectivity(world)[:2] == ["failed", "failed"]


def test_what_could_not_be_told_is_laid_at_one_end_in_the_same_way():
    world = world_of("abc")
    break_paths(world, "ab", "cb", fault=("unknown", "unconfirmed", ()))
    assert connectivity(world) == ["pass", "unknown", "pass"]


def test_what_was_never_tested_blames_nobody():
    world = world_of("abc")
    world.records = {key: one for key, one in world.records.items() if key[0] != PING or "b:" not in key[2]}
    assert connectivity(world) == ["missing"] * 3


def test_each_hca_is_judged_by_its_own_paths():
    states = {
        "a": (failing("b"), passing("c")),
        "b": (failing("a"), failing("c")),
    }
    assert lone_end(states) == "b"
    assert lone_end({"a": states["a"], "b": states["b"][:1]}) == ""


@pytest.mark.parametrize("peers", [1, 2, 3])
def test_as_many_failing_peers_on_both_sides_tell_nothing(peers: int):
    same = [*(failing(f"n{number}") for number in range(peers)), passing("g")]
    assert lone_end({"a": same, "b": same}) == ""


def test_the_verdicts_open_nodes_are_those_that_are_not_blamed():
    world = world_of("abc")
    world.at_least = 2
    break_paths(world, "ab", "ba", "cb", "bc")
    verdict = world.verdict()
    assert (verdict.is_open, [node.is_open for node in verdict.pools[0].nodes]) == (True, [True, False, True])
    assert world.check("b", "connectivity").status is CheckStatus.FAILED
