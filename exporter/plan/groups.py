"""The groups of nodes that a collective test of the plan runs in, as a person writes them.

``groups: {ranks_per_node: 8, nodes_per_group: 2}`` makes groups of two that take turns, so that every node is in one;
``whole_pool: true`` makes one of all nodes, and ``named: {row-1: [gpu-001, gpu-002]}`` those that are listed.
"""

from collections.abc import Iterator
from typing import Any

from exporter.document import Mistake, Place, unknown_key
from exporter.plan import GroupTest, PlannedGroups, Pool
from exporter.plan.schema import NAME

KEYS = ("ranks_per_node", "nodes_per_group", "whole_pool", "named")
WAYS = KEYS[1:]
EXAMPLE = "{nodes_per_group: 2, ranks_per_node: 8}"
RANKS_PER_NODE_AT_MOST = 64
NODES_AT_MOST = 1024
WITHIN_ONE_NODE = "nccl_tests"
WITHIN_NODES = "intra_node"


def read_groups(given: object, place: Place) -> tuple[PlannedGroups | None, list[Mistake]]:
    """Return the groups, or None and every mistake in them."""
    if not isinstance(given, dict):
        found = "absent" if given is None else f"{given!r} found"
        return None, [Mistake(place, f"{found}, groups wanted, as in {EXAMPLE}")]
    mistakes = [*_mistakes(given, place)]
    if mistakes:
        return None, mistakes
    named = {str(name): tuple(nodes) for name, nodes in given.get("named", {}).items()}
    return PlannedGroups(given["ranks_per_node"], given.get("nodes_per_group", 0), named), []


def group_contradictions(pool: Pool, test: GroupTest, place: Place) -> Iterator[Mistake]:
    """Yield what does not go together between a test, its groups and its pool."""
    groups, names = test.groups, pool.nodes.names
    sizes = _sizes(groups, len(names))
    if any(size * groups.ranks_per_node == 1 for size in sizes):
        yield Mistake(place, "one rank found, at least 2 wanted: one rank proves nothing")
    if test.spec.settings.get("way") == WITHIN_ONE_NODE and any(size != 1 for size in sizes or (0,)):
        yield Mistake(place, f"{WITHIN_ONE_NODE} with groups of several nodes found, groups of one node wanted for it")
    transport = test.spec.settings.get("transport")
    if transport and sizes and (transport == WITHIN_NODES) is not all(size == 1 for size in sizes):
        wanted = f"{WITHIN_NODES} for groups of one node, and another for those of several, wanted"
        yield Mistake((*place[:-1], "transport"), f"{transport} found with groups of {max(sizes)} nodes, {wanted}")
    burst_limit = test.spec.settings.get("burst_limit", 0.0)
    if burst_limit >= test.spec.limit_seconds:
        found = f"{test.spec.limit_seconds:g} found with a burst_limit of {burst_limit:g} s"
        yield Mistake((*place[:-1], "limit_seconds"), f"{found}, more wanted: the ranks need time to start")
    if names and groups.nodes_per_group > len(names):
        found = f"{groups.nodes_per_group} found, at most the {len(names)} nodes of pool {pool.name} wanted"
        yield Mistake((*place, "nodes_per_group"), found)
    for name, nodes in groups.named.items():
        if strangers := [node for node in nodes if names and node not in names]:
            found = f"{', '.join(strangers)} found, nodes of pool {pool.name} wanted"
            yield Mistake((*place, "named", name), found)
    pods = pool.test_pods
    largest = max(sizes, default=0)
    if pods and (pods.at_once < largest or not pods.hold_seconds):
        found = f"at_once {pods.at_once} and hold {pods.hold_seconds:g} s of the test pods found"
        yield Mistake(place, f"{found}, at least {largest} and a time wanted: each node of a group needs its pod")


def _sizes(groups: PlannedGroups, nodes: int) -> list[int]:
    """How many nodes the groups have, as far as the plan says it."""
    if groups.named:
        return [len(one) for one in groups.named.values()]
    found = groups.nodes_per_group or nodes
    return [found] if found else []


def _mistakes(given: dict[str, Any], place: Place) -> Iterator[Mistake]:
    yield from (Mistake((*place, key), unknown_key(key, KEYS)) for key in given if key not in KEYS)
    yield from _number(given, "ranks_per_node", RANKS_PER_NODE_AT_MOST, place)
    ways = [key for key in WAYS if key in given]
    if len(ways) != 1:
        yield Mistake(place, f"{' and '.join(ways) or 'none'} of {', '.join(WAYS)} found, one of them wanted")
    if "nodes_per_group" in given:
        yield from _number(given, "nodes_per_group", NODES_AT_MOST, place)
    if "whole_pool" in given and given["whole_pool"] is not True:
        yield Mistake((*place, "whole_pool"), f"{given['whole_pool']!r} found, true wanted, or another of the keys")
    if "named" in given:
        yield from _named(given["named"], (*place, "named"))


def _number(given: dict[str, Any], key: str, most: int, place: Place) -> Iterator[Mistake]:
    found = given.get(key)
    if isinstance(found, bool) or not isinstance(found, int) or not 0 < found <= most:
        said = f"{found!r} found" if key in given else "absent"
        yield Mistake((*place, key), f"{said}, a number from 1 to {most} wanted")


def _named(given: object, place: Place) -> Iterator[Mistake]:
    if not isinstance(given, dict) or not given:
        yield Mistake(place, f"{given!r} found, groups by name wanted, as in {{row-1: [gpu-001, gpu-002]}}")
        return
    for name, nodes in given.items():
        if not isinstance(name, str) or not NAME.fullmatch(name):
            yield Mistake((*place, name), f"{name!r} found, a name of at most 63 letters, digits, dots, dashes wanted")
        if not isinstance(nodes, list) or not nodes or not all(isinstance(node, str) for node in nodes):
            yield Mistake((*place, name), f"{nodes!r} found, a list of nodes wanted")
        elif len(set(nodes)) < len(nodes):
            yield Mistake((*place, name), "a node listed twice found, each once wanted")
